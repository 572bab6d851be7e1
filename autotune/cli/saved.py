"""`autotune script` and `autotune report`: from what a search has saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli import options as take
from autotune.cli.console import put, say

if TYPE_CHECKING:
    from autotune.program import Frozen

REPORT = "report.html"


def script(
    *,
    config: take.Saved,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the program to this file instead of stdout."),
    ] = None,
    freeze_autotune: Annotated[
        bool,
        typer.Option(
            "--freeze-autotune",
            help="Replace tf.data.AUTOTUNE with the values it chose.",
        ),
    ] = False,
) -> None:
    """Print the training program of a saved configuration."""
    # Rendering needs most of autotune, which would make every other command start slower.
    from autotune.program import freeze, render
    from autotune.result import load_configuration
    from autotune.result.files import write_text

    saved = load_configuration(config)
    frozen = freeze(saved.configuration, saved.automatic) if freeze_autotune else None
    configuration = frozen.configuration if frozen else saved.configuration
    program = render(configuration, saved.workload, saved.facts, saved.machine, frozen=frozen)
    if out:
        write_text(out, program.train)
    else:
        put(program.train)
    if frozen:
        say(_told(frozen))
    if program.launch:
        processes = saved.configuration.processes
        say(
            f"This program is one of {processes} processes. To start them all, save it as "
            "train.py next to the launch.py written by `autotune tune`."
        )


def _told(frozen: Frozen) -> str:
    numbers = ", ".join(f"{name} {number}" for name, number in frozen.numbers.items())
    what = f"Frozen: {numbers}." if numbers else "There is no known AUTOTUNE value to replace."
    return f"{what} {frozen.left}".strip()


def report(
    *,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What `autotune tune` or `result.save()` has written."),
    ] = Path("autotune-out"),
) -> None:
    """Write report.html again, from the other files of a result."""
    # The page needs most of autotune, which would make every other command start slower.
    from autotune.result import Result
    from autotune.result.files import put_texts

    put_texts(folder, {REPORT: Result.load(folder).report()})
    say(f"Written: {folder / REPORT}")
