"""`autotune report`: the page of a result, written again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.consoles import say

REPORT = "report.html"


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
