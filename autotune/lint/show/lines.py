"""A report in plain lines, for logs, editors and grep."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.lint.finding import Report
from autotune.lint.rules import rules


def plain_text(report: Report) -> str:
    """Return a line for each finding, then why and the remedy for each rule that was broken."""
    return "".join(f"{line}\n" for line in _lines(report))


def summary(report: Report) -> str:
    """Return the outcome in a sentence."""
    files = f"{report.files} file{'' if report.files == 1 else 's'}"
    count = len(report.findings)
    if count == 0:
        return f"No findings in {files}."
    return f"{count} finding{'' if count == 1 else 's'} in {files}."


def _lines(report: Report) -> Iterator[str]:
    for each in report.findings:
        yield f"{each.place} {each.rule} {each.sentence}"
    for name in sorted({each.rule for each in report.findings}):
        rule = rules()[name]
        yield ""
        yield f"{name}: {rule.title}"
        yield f"  Why: {rule.why}"
        yield f"  Instead: {rule.instead}"
    yield from ("", summary(report)) if report.findings else (summary(report),)
