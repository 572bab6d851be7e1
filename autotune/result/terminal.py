"""A result in a terminal and below a notebook's cell: the answer first, then the explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from autotune.result.data import ResultData
from autotune.result.explanations import failures
from autotune.result.files import MEANINGS, written
from autotune.result.tables import HEAD, Line, Stacked, as_html, columns, marked
from autotune.result.view import Ending, NextStep, ResultView, Row
from autotune.strategies import in_short

LEAST = 50
"""Columns that a configuration needs beside its figures."""


def result_text(result: ResultData, folder: Path) -> RenderableType:
    """Return the verdict, the table, the reasons, the failures, the files and what to do next."""
    view, missing = ResultView(result), result.unsaved.files if result.unsaved else ()
    files = {name: path for name, path in written(folder).items() if name not in missing}
    parts: list[RenderableType] = [*_answer(view), Text(), *_reasons(view), Text()]
    if view.failures:
        parts += [*_failures(view), Text()]
    if "train.py" in missing:
        # Not wrapped: it is a program.
        script = Text(result.script, no_wrap=True, overflow="ignore")
        parts += [Text("train.py, which the disk did not take", style=HEAD), script]
    return Group(*parts, *_files(files, folder), Text(), *map(_command, view.next_steps(files)))


def brief(result: ResultData) -> str:
    with StringIO() as text:
        console = Console(file=text, color_system=None, highlight=False)
        console.print(*_answer(ResultView(result)), sep="\n")
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def result_html(result: ResultData) -> str:
    """Return verdict and table in sight, reasons and failures a click away."""
    view = ResultView(result)
    parts = [as_html(Group(*_answer(view))), _details("Why", Group(*_reasons(view)))]
    if view.failures:
        parts.append(_details("Failed trials", Group(*_failures(view))))
    return "\n".join(parts)


def _details(title: str, what: RenderableType) -> str:
    return f"<details><summary>{title}</summary>{as_html(what)}</details>"


def _answer(view: ResultView) -> Iterator[RenderableType]:
    yield Text(view.summary, style="bold")
    yield Text()
    heads = ("|outcome", ">examples/s", ">vs one device")
    yield Stacked(heads, "configuration", [_line(row) for row in view.best], LEAST)
    yield Text(view.counts, style="dim")


def _line(row: Row) -> Line:
    name = f"{row.name} ({row.whose})" if row.whose else row.name
    cells = row.outcome, row.rate, row.speedup
    return Line(cells, Text(name), "bold" if row.chosen else "")


def _reasons(view: ResultView) -> Iterator[RenderableType]:
    """Yield the reasons that the table of failures does not give."""
    yield from (marked(" - ", Text(each)) for each in view.reasons(failures))


def _failures(view: ResultView) -> Iterator[RenderableType]:
    """Two lines for each cause, because a cause often repeats."""
    yield Text("failed trials", style=HEAD)
    for each in view.failures:
        first = each.trials[0]
        head = Text.assemble((each.outcome, "red"), f"  {in_short(first.configuration)}")
        yield marked(f"{first.number:>4}  ", head.append(_others(each), style="dim"))
        yield marked(" " * 6, Text(each.reason, style="dim"))


def _others(ending: Ending) -> str:
    numbers = ", ".join(str(trial.number) for trial in ending.trials[1:])
    return f" (and trial{'s' * (len(ending.trials) > 2)} {numbers})" if numbers else ""


def _files(files: Mapping[str, Path], folder: Path) -> Iterator[RenderableType]:
    yield Text.assemble(("files in ", HEAD), (str(folder), "bold"), overflow="fold")
    table = columns("|", "")
    table.show_header = False
    for name in files:
        table.add_row(f"  {name}", Text(MEANINGS[name], style="dim"))
    yield table


def _command(step: NextStep) -> RenderableType:
    # Never wrapped by us: a line break inside would be pasted into the shell.
    parts = (f"{step.what:<16}", "dim"), (step.command, "bold"), (step.remark, "dim")
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")
