"""The result of a search, for people."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autotune.recommendation import Recommendation
from autotune.report.files import meaning, written
from autotune.report.standing import Row, Standing
from autotune.report.tables import columns
from autotune.report.words import (
    counted,
    in_short,
    one_line,
    rate_with_error,
    roughly,
    share,
)
from autotune.run.engine import Outcome
from autotune.trial import Trial

BEST = 6
"""Rows of configurations that were not in the finals."""
FAILURES = (
    Outcome.OUT_OF_MEMORY,
    Outcome.CRASHED,
    Outcome.HUNG,
    Outcome.FAILED,
    Outcome.UNSTEADY,
)


def result_text(result: Recommendation, folder: Path) -> RenderableType:
    """Return verdict, reasons, tables, and what to do next."""
    failed = [trial for trial in result.trials if trial.outcome in FAILURES]
    parts: list[RenderableType] = [
        Text(result.summary, style="bold"),
        *_reasons(result, failed),
        Text(),
        _best(result),
    ]
    if failed:
        parts += [Text(), _failures(failed)]
    return Group(*parts, Text(), _count(result), Text(), *_next(result, folder))


def _reasons(result: Recommendation, failed: Sequence[Trial]) -> list[RenderableType]:
    """The grounds, without those that the table of failures gives."""
    told = [trial.reason for trial in failed]
    rest = [each for each in result.reasons if not any(reason in each for reason in told)]
    return [_bullet(each) for each in rest]


def _bullet(text: str) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(" -", Text(one_line(text)))
    return grid


def _best(result: Recommendation) -> Table:
    table = columns("configuration", ">examples/s", ">vs one device", ">outcome")
    standing = Standing(result.trials, result.one_device)
    finalists = standing.rows(final=True)
    seen = {row.configuration for row in finalists}
    explored = [r for r in standing.rows(final=False) if r.configuration not in seen]
    for row in finalists:
        table.add_row(*_cells(row, result), style="bold" if _chosen(row, result) else "")
    if finalists and explored:
        table.add_section()
        table.add_row(Text("only while exploring:", style="dim"))
    for row in explored[:BEST]:
        table.add_row(*_cells(row, result))
    return table


def _cells(row: Row, result: Recommendation) -> tuple[RenderableType, ...]:
    words = Text(in_short(row.configuration))
    return words, rate_with_error(row.rate), share(row.share), _how(row, result)


def _how(row: Row, result: Recommendation) -> str:
    if _chosen(row, result):
        return "recommended"
    return "finalist" if row.final else str(row.outcome)


def _chosen(row: Row, result: Recommendation) -> bool:
    return row.configuration == result.config


def _failures(failed: Iterable[Trial]) -> Table:
    """One row for each cause, because a cause often repeats."""
    table = columns("failed trials", "outcome", "reason")
    causes: dict[tuple[str, str], list[Trial]] = {}
    for trial in failed:
        causes.setdefault((trial.outcome, one_line(trial.reason)), []).append(trial)
    for (outcome, reason), trials in causes.items():
        table.add_row(_which(trials), Text(outcome, style="red"), Text(reason))
    return table


def _which(trials: Sequence[Trial]) -> Text:
    text = Text(f"{trials[0].number}: {in_short(trials[0].configuration)}")
    if len(trials) > 1:
        text.append(f"\nand {', '.join(str(trial.number) for trial in trials[1:])}", style="dim")
    return text


def _count(result: Recommendation) -> Text:
    found = Counter(str(trial.outcome) for trial in result.trials)
    parts = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
    trials = counted(len(result.trials), "trial")
    return Text(f"{trials} in {roughly(result.seconds)}: {parts}.", style="dim")


def _next(result: Recommendation, folder: Path) -> list[RenderableType]:
    files = written(folder)
    table = Table.grid(padding=(0, 2))
    for name in files:
        table.add_row(f"  {name}", Text(meaning(name), style="dim"))
    commands = [("Train with it:", _training(files))]
    if "study.db" in files:
        commands.append(("See the study:", f"optuna-dashboard sqlite:///{files['study.db']}"))
    if result.interrupted:
        commands.append(("Go on with it:", "the same command with --resume"))
    return [
        Text(f"Files in {folder}", style="bold dim"),
        table,
        Text(),
        *(_command(*each) for each in commands),
    ]


def _training(files: dict[str, Path]) -> str:
    program = files.get("launch.py") or files.get("train.py") or Path("train.py")
    return f"python {shlex.quote(str(program))} --epochs 5"


def _command(what: str, command: str) -> RenderableType:
    return Padding(Text.assemble((f"{what:<15}", "dim"), (command, "bold cyan")), (0, 0))
