"""`autotune report`: the page of a result, written again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.consoles import say


def report(
    *,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What `autotune tune` or `result.save()` has written."),
    ] = Path("autotune-out"),
) -> None:
    """Write report.html again, from the other files of a result."""
    # The page needs most of autotune, which would make every other command start slower.
    from autotune.recommendation.kept import load_recommendation
    from autotune.report.saving import NAME, write_report

    write_report(load_recommendation(folder), folder)
    say(f"Written: {folder / NAME}")
