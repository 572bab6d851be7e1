"""A report as lines, on a terminal, as JSON and as SARIF, and the rules as a list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autotune.doctor.report import Finding, Place, Report, Severity
from autotune.doctor.rule import HERE, Rule
from autotune.doctor.rules import rules
from autotune.version import VERSION


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


_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}


def terminal_text(report: Report) -> RenderableType:
    """Return the findings by file, then why and the remedy for each rule that was broken."""
    parts: list[RenderableType] = []
    for file, findings in groupby(report.findings, key=lambda each: each.place.file):
        parts += [Text(file, style="bold"), _table(list(findings)), Text()]
    for name in sorted({each.rule for each in report.findings}):
        parts += [*_reasons(rules()[name]), Text()]
    return Group(*parts, Text(summary(report), style="bold"))


def rule_list() -> RenderableType:
    """Return the names and titles of all rules."""
    table = Table.grid(padding=(0, 2))
    for rule in rules().values():
        table.add_row(
            Text(rule.name, style="bold"),
            Text(rule.severity, style=_STYLES[rule.severity]),
            Text(rule.title),
        )
    return table


def explained(rule: Rule) -> RenderableType:
    """Return all that is to be said about a rule."""
    parts: list[RenderableType] = [*_reasons(rule)]
    for head, examples in (("Found in", rule.bad), ("Quiet about", rule.good)):
        for example in examples:
            parts += [Text(), Text(f"{head}:", style="bold"), Padding(_code(example), (1, 2, 0, 2))]
    return Group(*parts)


def _table(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True)
    table.add_column()
    for each in findings:
        cell = "" if each.place.cell is None else f"cell {each.place.cell}:"
        place = Text(f"  {cell}{each.place.line}:{each.place.column}", style="dim")
        table.add_row(place, Text(each.rule, style=_STYLES[each.severity]), Text(each.sentence))
    return table


def _reasons(rule: Rule) -> list[RenderableType]:
    return [
        Text.assemble((rule.name, _STYLES[rule.severity]), f": {rule.title}"),
        Padding(Text.assemble(("Why: ", "bold"), rule.why), (0, 2)),
        Padding(Text.assemble(("Instead: ", "bold"), rule.instead), (0, 2)),
    ]


def _code(example: str) -> Text:
    text = Text(example.strip())
    text.highlight_words([HERE], style="bold red")
    return text


def json_document(report: Report) -> str:
    """Return the report with the words of the rules that were broken."""
    broken = sorted({each.rule for each in report.findings})
    document = {
        "version": VERSION,
        "files": report.files,
        "findings": [asdict(each) for each in report.findings],
        "troubles": [each.text for each in report.troubles],
        "rules": {
            name: {"title": rule.title, "why": rule.why, "instead": rule.instead}
            for name, rule in rules().items()
            if name in broken
        },
    }
    return json.dumps(document, indent=2) + "\n"


def github_annotations(report: Report) -> str:
    """Return a command of GitHub's workflows for each finding, which shows it beside the code."""
    found = (_annotation(each) for each in report.findings)
    told = (
        f"::{'error' if each.unread else 'warning'}::{_escaped(each.text)}\n"
        for each in report.troubles
    )
    return "".join((*found, *told))


def _annotation(finding: Finding) -> str:
    place = finding.place
    where = {"title": finding.rule, "file": place.file}
    if place.cell is None:
        where |= {"line": str(place.line), "endLine": str(place.end_line), "col": str(place.column)}
    listed = ",".join(f"{name}={_escaped(each, ':,')}" for name, each in where.items())
    sentence = _escaped(f"{finding.sentence} {rules()[finding.rule].instead}")
    return f"::{finding.severity.value} {listed}::{sentence}\n"


def _escaped(text: str, also: str = "") -> str:
    """Return a text as such commands hold it."""
    for letter in f"%\r\n{also}":
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_document(report: Report) -> str:
    """Return the report as one run of the tool."""
    order = list(rules())
    run = {
        "tool": {
            "driver": {
                "name": "autotune doctor",
                "semanticVersion": VERSION,
                "rules": [_rule(each) for each in rules().values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(each, order.index(each.rule)) for each in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": f"{rule.title[:1].upper()}{rule.title[1:]}."},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.instead},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _invocation(report: Report) -> dict[str, Any]:
    """Return whether all could be looked at, and what could not."""
    return {
        "executionSuccessful": report.complete,
        "toolExecutionNotifications": [
            {"level": "error" if each.unread else "warning", "message": {"text": each.text}}
            for each in report.troubles
        ],
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": f"{finding.sentence} {rules()[finding.rule].instead}"},
        "locations": [{"physicalLocation": _location(finding.place)}],
    }


def _location(place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(Path(place.file))}}
    if place.cell is None:  # A notebook's file has other lines than its cells.
        location["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        }
    return location


def _uri(path: Path) -> str:
    """Return an address: relative to the working folder where it can be."""
    if path.is_absolute():
        if not path.is_relative_to(Path.cwd()):
            return path.as_uri()
        path = path.relative_to(Path.cwd())
    return quote(path.as_posix())
