"""A report as SARIF 2.1.0, which editors and code hosts read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autotune.lint.finding import Finding, Place, Report
from autotune.lint.rule import Rule
from autotune.lint.rules import rules
from autotune.version import VERSION

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
