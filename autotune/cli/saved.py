"""`autotune verify`, `script` and `report`: what is done with the files of a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from autotune.cli import options as take
from autotune.cli.console import log, notices, show, write_out

if TYPE_CHECKING:
    from autotune.verification import Verification

REPORT = "report.html"
FAILED = 1
VERIFY_CODES = (
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
    from autotune.result.stored import located
    from autotune.text import parse_seconds

    saved, budget = load_configuration(config), parse_seconds(seconds)
    name, folder = saved.workload.name, located(saved, config)
    with (
        reserved_engine(engine, name, log, seconds=budget, wait=not no_wait) as running,
        chdir(folder),
    ):
        from autotune.result.terminal import ProgressReport
        from autotune.verification import VerificationOutcome, verify as check

        with ProgressReport(notices()) as report:
            found = check(saved, seconds=budget, observer=report, engine=running)
    if json:
        from autotune.result.result import WINDOWS

        write_out(found.model_dump_json(indent=2, exclude=WINDOWS) + "\n")
    else:
        from autotune.result.terminal import marked, named
        from autotune.text import plural, roughly

        notes = [marked(" - ", Text(note)) for note in found.notes]
        count = f"{plural(len(found.trials), 'run')} in {roughly(found.seconds)}."
        head = Text(found.summary, style="bold")
        show(Group(head, named(_verified(found), "  "), *notes, Text(count, style="dim")))
    unclear = found.outcome is VerificationOutcome.UNCLEAR
    if found.outcome is VerificationOutcome.FAILS or (strict and unclear):
        raise typer.Exit(FAILED)


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


def script(
    *,
    config: take.Saved = take.OUT,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the program to this file instead of stdout."),
    ] = None,
) -> None:
    """Print the training program of a saved configuration."""
    from autotune.library import modules_for
    from autotune.program import render
    from autotune.result import load_configuration
    from autotune.result.files import write_program

    saved = load_configuration(config)
    program = render(saved.configuration, saved.workload, saved.facts, saved.machine)
    if out:
        write_program(out, program.train)
    else:
        write_out(program.train)
        log(f"It imports {', '.join(modules_for(program.train))}, which --out writes beside it.")
    if program.launch:
        log(
            f"This program is one of {saved.configuration.processes} processes. To start them all, "
            "save it as train.py next to the launch.py written by `autotune tune`."
        )


def report(*, folder: take.Folder = take.OUT) -> None:
    """Write report.html again, from the other files of a result."""
    from autotune.disk import put_texts
    from autotune.result import Result

    put_texts(folder, {REPORT: Result.load(folder).report()})
    log(f"Written: {folder / REPORT}")
