"""A report as lines, on a terminal, as JSON and as SARIF, and the rules as a list."""

from autotune.lint.show.documents import json_document
from autotune.lint.show.lines import plain_text
from autotune.lint.show.sarif import sarif_document
from autotune.lint.show.terminal import explained, rule_list, terminal_text

__all__ = [
    "explained",
    "json_document",
    "plain_text",
    "rule_list",
    "sarif_document",
    "terminal_text",
]
