"""Whether a saved recommendation still holds, for people and for machines."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autotune.report.words import counted, in_short, rate_with_error, roughly, share
from autotune.verification.verification import Verification


def verification_text(found: Verification) -> RenderableType:
    """Return the answer, what it rests on, and what else should be known."""
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(found):
        table.add_row(Text(f"  {name}", style="dim"), Text(value))
    head = Text(found.summary, style="bold")
    notes = [_bullet(note) for note in found.notes]
    return Group(head, table, *notes, Text(_count(found), style="dim"))


def verification_document(found: Verification) -> str:
    """Return it as JSON; the trials come without their windows."""
    windows = {"trials": {"__all__": {"windows"}}}
    return found.model_dump_json(indent=2, exclude=windows) + "\n"


def _rows(found: Verification) -> list[tuple[str, str]]:
    rows = [("recommended", f"{in_short(found.configuration)} ({found.verdict})")]
    if found.rival:
        rows.append(("compared with", in_short(found.rival)))
    if found.ratio:
        rows.append(("ratio", share(found.ratio)))
    if found.examples_per_second:
        rows.append(("examples/s", rate_with_error(found.examples_per_second)))
    if found.ratio_to_expected and found.expected:
        expected = rate_with_error(found.expected)
        rows.append(("vs saved", f"{share(found.ratio_to_expected)} of {expected}"))
    return rows


def _bullet(text: str) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(" -", Text(text))
    return grid


def _count(found: Verification) -> str:
    return f"{counted(len(found.trials), 'run')} in {roughly(found.seconds)}."
