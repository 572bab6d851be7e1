"""The result of a search, for people: the answer and what to do with it first, then the grounds."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from autotune.durations import at_least
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.report.tables import HEAD, Line, Stacked, columns, marked
from autotune.report.verdict import FAILURES, Topic, told
from autotune.result import Result
from autotune.result.files import MEANINGS, written
from autotune.result.leaderboard import Entry
from autotune.space.origin import Origin
from autotune.strategies import in_short
from autotune.trial import Trial
from autotune.wording import one_line, plural, rate_with_error, roughly, share

EXPLORED_ROWS = 3
"""Rows of configurations that were not in the finals."""
WHOSE = {
    Origin.SCRIPT: "as the script by itself",
    Origin.AUTO_STRATEGY: "as AutoStrategy would",
}
LEAST = 50
"""Columns that a configuration needs beside its figures."""


def result_text(result: Result, folder: Path) -> RenderableType:
    """Return the verdict, the table, the grounds, the failures, the files and what to do next."""
    failed = [trial for trial in result.trials if trial.outcome in FAILURES]
    missing = result.unsaved.files if result.unsaved else ()
    files = {name: path for name, path in written(folder).items() if name not in missing}
    parts: list[RenderableType] = [
        *_answer(result),
        Text(),
        *(marked(" - ", Text(each)) for each in reasons_beside_tables(result)),
        Text(),
    ]
    if failed:
        parts += [Text("failed trials", style=HEAD), *_failures(failed), Text()]
    if "train.py" in missing:
        # Not wrapped: it is a program.
        script = Text(result.script, no_wrap=True, overflow="ignore")
        parts += [Text("train.py, which the disk did not take", style=HEAD), script]
    return Group(*parts, *_files(files, folder), Text(), *_next(result, files))


def brief(result: Result) -> str:
    """Return the verdict and the table as text, as wide as the terminal."""
    with StringIO() as text:
        Console(file=text, color_system=None, highlight=False).print(*_answer(result), sep="\n")
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _answer(result: Result) -> Iterator[RenderableType]:
    yield Text(result.summary, style="bold")
    yield Text()
    yield _best(result)
    yield Text(counts(result), style="dim")


def best_rows(result: Result) -> tuple[list[Entry], list[Entry]]:
    """Return the finalists; and of what was explored the best of each strategy, and the chosen."""
    finalists, explored = list(result.finalists), result.explored
    first: dict[str, Entry] = {}
    for row in explored:
        first.setdefault(row.configuration.strategy, row)
    finals = {row.configuration.strategy for row in finalists}
    chosen = [
        row
        for row in explored
        if row.origins
        or row.configuration == result.config
        or (row is first[row.configuration.strategy] and row.configuration.strategy not in finals)
    ]
    rest = [row for row in explored if row not in chosen]
    chosen += rest[: max(EXPLORED_ROWS - len(chosen), 0)]
    return finalists, sorted(chosen, key=lambda row: -row.examples_per_second.value)


def row_in_short(row: Entry) -> str:
    """Return a configuration in a line, with who would have trained so without a search."""
    whose = ", ".join(WHOSE[each] for each in row.origins)
    return f"{in_short(row.configuration)}{f' ({whose})' if whose else ''}"


def outcome_of(row: Entry, result: Result) -> str:
    """Return what became of a configuration, in a word."""
    if row.configuration == result.config:
        return "recommended"
    if row.outcome is not Outcome.MEASURED:
        return str(row.outcome)
    return "finalist" if row.final else "explored"


def reasons_beside_tables(result: Result) -> Iterator[str]:
    """Yield the grounds, without those that the tables give."""
    for each in told(result):
        if each.topic not in (Topic.EXPLORED, Topic.FAILURE):
            yield one_line(each.text)


def _best(result: Result) -> Stacked:
    finalists, explored = best_rows(result)
    rows = [_line(row, result) for row in (*finalists, *explored)]
    heads = ("|outcome", ">examples/s", ">vs one device")
    return Stacked(heads, "configuration", rows, LEAST)


def _line(row: Entry, result: Result) -> Line:
    cells = outcome_of(row, result), rate_with_error(row.examples_per_second), share(row.speedup)
    style = "bold" if row.configuration == result.config else ""
    return Line(cells, Text(row_in_short(row)), style)


def _failures(failed: Iterable[Trial]) -> Iterator[RenderableType]:
    """Two lines for each cause, because a cause often repeats."""
    causes: dict[tuple[str, str], list[Trial]] = {}
    for trial in failed:
        causes.setdefault((trial.outcome, one_line(reason_text(trial.reason))), []).append(trial)
    for (outcome, reason), trials in causes.items():
        head = Text.assemble((outcome, "red"), f"  {in_short(trials[0].configuration)}")
        yield marked(f"{trials[0].number:>4}  ", head.append(_others(trials), style="dim"))
        yield marked(" " * 6, Text(reason, style="dim"))


def _others(trials: Sequence[Trial]) -> str:
    numbers = ", ".join(str(trial.number) for trial in trials[1:])
    return f" (and trial{'s' * (len(trials) > 2)} {numbers})" if numbers else ""


def counts(result: Result) -> str:
    """Return how many trials there were and how they ended, and what the figures mean."""
    found = Counter(str(trial.outcome) for trial in result.trials)
    parts = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
    trials = plural(len(result.trials), "trial")
    adjective = result.grounds.adjective
    key = (
        f"The column `vs one device` says how many times as {adjective} as the best single device; "
        "± and ranges are 95% intervals."
    )
    return f"{trials} in {roughly(result.seconds)}{_shares(result)}: {parts}. {key}"


def _shares(result: Result) -> str:
    """Return what part of the time went into the first calls, and what part was timed."""
    if not result.measuring_seconds:
        return ""
    tracing = result.tracing_seconds / result.seconds
    measuring = result.measuring_seconds / result.seconds
    return f" ({tracing:.0%} tracing and compiling, {measuring:.0%} timed steps)"


def _files(files: dict[str, Path], folder: Path) -> Iterator[RenderableType]:
    yield Text.assemble(("files in ", HEAD), (str(folder), "bold"), overflow="fold")
    table = columns("", "")
    table.show_header = False
    table.columns[0].no_wrap = True
    for name in files:
        table.add_row(f"  {name}", Text(MEANINGS[name], style="dim"))
    yield table


def _next(result: Result, files: dict[str, Path]) -> Iterator[RenderableType]:
    if not result.unsaved or "train.py" in files:
        yield _command("Train:", _training(files), _epochs(result))
    if "study.db" in files:
        yield _command("Show the study:", f"optuna-dashboard sqlite:///{files['study.db']}")
    if result.interrupted:
        yield _command("Continue:", "run the same command with --resume")
    elif more := result.grounds.more_seconds:
        command = f"run the same command with --resume --budget {at_least(more)}"
        yield _command("Decide:", command)
        gain, noise = result.grounds.shown_gain, result.grounds.noise.sd
        yield Text(
            f"{'':<16}It likely shows a gain of {gain:.0%} or more, if runs vary by {noise:.0%}.",
            style="dim",
        )


def _training(files: dict[str, Path]) -> str:
    program = files.get("launch.py") or files.get("train.py") or Path("train.py")
    return f"python {shlex.quote(str(program))}"


def _epochs(result: Result) -> str:
    """Return how many epochs the program makes by itself."""
    fit = result.facts.fit
    many = fit.epochs if fit and fit.epochs else 1
    return f"  # {plural(many, 'epoch')}{', as the script' if fit else ''}; or --epochs N"


def _command(what: str, command: str, remark: str = "") -> RenderableType:
    # Never wrapped by us: a line break inside would be pasted into the shell.
    parts = (f"{what:<16}", "dim"), (command, "bold"), (remark, "dim")
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")
