"""The result of a search below a notebook's cell."""

from __future__ import annotations

from autotune.leaderboard import Entry
from autotune.report.cell import block, folded, listed, table, tag
from autotune.report.result import best_rows, counts, outcome_of, reasons_beside_tables
from autotune.report.verdict import FAILURES
from autotune.report.words import in_short, one_line, rate_with_error, share
from autotune.result import Result
from autotune.sentences.reasons import reason_text


def result_html(result: Result) -> str:
    """Return verdict and table in sight, grounds and failures a click away."""
    rows = [row for kind in best_rows(result) for row in kind]
    heads = ("outcome", ">examples/s", ">speedup", "configuration")
    return block(
        f"<p>{tag('b', result.summary)}</p>",
        table(heads, [_row(row, result) for row in rows]),
        tag("p", counts(result), "dim"),
        folded("Why", listed(reasons_beside_tables(result))),
        _failures(result),
    )


def _row(row: Entry, result: Result) -> tuple[tuple[str, ...], str]:
    cells = (
        rate_with_error(row.examples_per_second),
        share(row.speedup),
        in_short(row.configuration),
    )
    return (outcome_of(row, result), *cells), "best" if row.configuration == result.config else ""


def _failures(result: Result) -> str:
    failed = [trial for trial in result.trials if trial.outcome in FAILURES]
    if not failed:
        return ""
    rows = [
        (
            (
                str(t.number),
                str(t.outcome),
                in_short(t.configuration),
                one_line(reason_text(t.reason)),
            ),
            "",
        )
        for t in failed
    ]
    heads = (">trial", "outcome", "configuration", "reason")
    return folded(f"Failed trials ({len(failed)})", table(heads, rows))
