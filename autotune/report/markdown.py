"""The result of a search as Markdown, for a file or a wiki."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autotune.reason.sentences import reason_text
from autotune.report.result import row_in_short
from autotune.report.verdict import FAILURES
from autotune.result import Result
from autotune.result.leaderboard import Entry
from autotune.strategies import in_short
from autotune.trial import Trial
from autotune.wording import one_line, plural, rate_with_error, roughly, share

_SPECIAL = "\\`*_{}[]<>()#+!|~"


def result_markdown(result: Result) -> str:
    """Return verdict, reasons, the configurations that were compared, failures, and the machine."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    yield f"# {_plain(result.workload.name)}"
    yield from ("", f"**{_plain(result.summary)}**", "")
    yield from (f"- {_plain(each)}" for each in result.reasons)
    yield from ("", "## Configurations", "")
    yield from _configurations(result)
    failed = [trial for trial in result.trials if trial.outcome in FAILURES]
    if failed:
        yield from ("", "## Failed trials", "")
        yield from _failures(failed)
    yield from ("", "## How it was measured", "")
    yield from _measured(result)


def _configurations(result: Result) -> Iterator[str]:
    head = ("configuration", "examples/s", "vs one device", "outcome")
    yield from _table(head, (_cells(row, result) for row in (*result.finalists, *result.explored)))


def _cells(row: Entry, result: Result) -> tuple[str, ...]:
    kind = "finalist" if row.final else str(row.outcome)
    how = "**recommended**" if row.configuration == result.config else kind
    return (
        _plain(row_in_short(row)),
        rate_with_error(row.examples_per_second),
        share(row.speedup),
        how,
    )


def _failures(failed: Iterable[Trial]) -> Iterator[str]:
    rows = (
        (
            str(trial.number),
            _plain(in_short(trial.configuration)),
            trial.outcome,
            _plain(reason_text(trial.reason)),
        )
        for trial in failed
    )
    yield from _table(("trial", "configuration", "outcome", "reason"), rows)


def _measured(result: Result) -> Iterator[str]:
    machine = result.machine
    yield f"- {plural(len(result.trials), 'trial')} in {roughly(result.seconds)}"
    yield f"- {_plain(str(machine))}; {_plain(machine.processor)}"
    yield f"- TensorFlow {machine.tensorflow}, Keras {machine.keras}, Python {machine.python}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Return a text in a line in which nothing is markup."""
    return "".join(f"\\{each}" if each in _SPECIAL else each for each in one_line(text))
