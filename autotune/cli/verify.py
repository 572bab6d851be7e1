"""`autotune verify`: does a saved recommendation still hold?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from autotune.cli import options as take
from autotune.cli.console import log, notices, show, write_out

if TYPE_CHECKING:
    from autotune.verification.verify import Verification

FAILED = 1
EXIT_CODES = (
    "Exit codes: 0 confirmed or inconclusive, 1 refuted (with --strict also inconclusive), 2 "
    "usage error, 3 could not be verified, 130 interrupted."
)


def verify(
    *,
    config: take.Saved = take.OUT,
    seconds: Annotated[
        str,
        typer.Option(
            "--budget",
            "--seconds",
            metavar="TIME",
            help="Time limit: 50s, 2min or seconds; stops earlier once the answer is clear.",
        ),
    ] = "50s",
    strict: Annotated[
        bool, typer.Option("--strict", help="Also fail if the answer is inconclusive.")
    ] = False,
    engine: take.Engine = "local",
    no_wait: take.NoWait = False,
    json: take.Json = False,
) -> None:
    """Check whether a saved recommendation still holds on this machine with the current code.

    It is a search among the recommended configuration and its best alternative. The script, or the
    modules of the functions, are looked for beside the result, in the folders above it, and in the
    working folder.
    """
    # Here, so that the help answers before all of this is imported; the same below.
    from autotune.engine.resolve import reserved_engine
    from autotune.result import load_configuration
    from autotune.result.saved import located
    from autotune.text import parse_seconds

    saved, budget = load_configuration(config), parse_seconds(seconds)
    name, folder = saved.workload.name, located(saved, config)
    with (
        reserved_engine(engine, name, log, seconds=budget, wait=not no_wait) as running,
        chdir(folder),
    ):
        from autotune.result.progress import ProgressReport
        from autotune.verification.verify import VerificationOutcome, verify as check

        with ProgressReport(notices()) as report:
            found = check(saved, seconds=budget, observer=report, engine=running)
    if json:
        windows = {"trials": {"__all__": {"windows"}}}
        write_out(found.model_dump_json(indent=2, exclude=windows) + "\n")
    else:
        show(verification_text(found))
    unclear = found.outcome is VerificationOutcome.UNCLEAR
    if found.outcome is VerificationOutcome.FAILS or (strict and unclear):
        raise typer.Exit(FAILED)


def verification_text(found: Verification) -> RenderableType:
    from autotune.result.terminal import marked, named
    from autotune.text import plural, roughly

    notes = [marked(" - ", Text(note)) for note in found.notes]
    count = f"{plural(len(found.trials), 'run')} in {roughly(found.seconds)}."
    head = Text(found.summary, style="bold")
    return Group(head, named(_verified(found), "  "), *notes, Text(count, style="dim"))


def _verified(found: Verification) -> Iterator[tuple[str, str]]:
    from autotune.stats.intervals import rate_with_error, share
    from autotune.strategies import in_short

    yield "recommended", f"{in_short(found.configuration)} ({found.verdict})"
    if found.challenger:
        yield "compared with", in_short(found.challenger)
    if found.ratio:
        yield "ratio", share(found.ratio)
    if found.examples_per_second:
        yield "examples/s", rate_with_error(found.examples_per_second)
    if found.ratio_to_expected and found.expected:
        expected = rate_with_error(found.expected)
        yield "vs saved", f"{share(found.ratio_to_expected)} of {expected}"
