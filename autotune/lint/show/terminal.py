"""A report and the rules on a terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autotune.lint.finding import Finding, Report, Severity
from autotune.lint.rule import HERE, Rule
from autotune.lint.rules import rules
from autotune.lint.show.lines import summary

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
