"""A report as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from autotune.lint.finding import Report
from autotune.lint.rules import rules
from autotune.version import VERSION


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
