"""The findings of a check as text, as JSON and as commands of GitHub; and the rules as a list."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from textwrap import indent

from rich.text import Text

from autotune.doctor.rule import HERE, Rule, Severity
from autotune.doctor.rules import rules
from autotune.doctor.source import Edit, Place, Trouble
from autotune.text import plural
from autotune.versions import VERSION

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}


@dataclass(frozen=True)
class Finding:
    rule: str
    severity: Severity
    place: Place
    sentence: str
    edit: Edit | None = None
    """The remedy, where it is mechanical; files are edited, notebooks are not."""


@dataclass(frozen=True, kw_only=True)
class Report:
    findings: tuple[Finding, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    files: int = 0

    @property
    def complete(self) -> bool:
        return not any(each.unread for each in self.troubles)


def sum_of(reports: Iterable[Report]) -> Report:
    reports = [*reports]
    return Report(
        findings=tuple(each for report in reports for each in report.findings),
        troubles=tuple(each for report in reports for each in report.troubles),
        files=sum(report.files for report in reports),
    )


def report_text(report: Report) -> Text:
    """Return a line for each finding, then the reason and the remedy for each broken rule."""
    text = Text()
    for each in report.findings:
        style = _STYLES[each.severity]
        text.append(f"{each.place} ").append(each.rule, style).append(f" {each.sentence}\n")
    for rule in _broken(report):
        text.append("\n").append(_words(rule))
    count = len(report.findings)
    found = plural(count, "finding") if count else "No findings"
    return text.append("\n" * bool(count)).append(f"{found} in {plural(report.files, 'file')}.\n")


def _broken(report: Report) -> list[Rule]:
    return [rules()[name] for name in sorted({each.rule for each in report.findings})]


def _words(rule: Rule) -> Text:
    name = (rule.name, _STYLES[rule.severity])
    why = (f": {rule.title}\n", ("  Why: ", "bold"), rule.why)
    return Text.assemble(name, *why, ("\n  Instead: ", "bold"), rule.instead, "\n")


def rule_list() -> Text:
    text = Text()
    for rule in rules().values():
        text.append(f"{rule.name:<25}", "bold")
        text.append(f"{rule.severity:<9}", _STYLES[rule.severity]).append(f"{rule.title}\n")
    return text


def explained(rule: Rule) -> Text:
    text = _words(rule)
    for head, examples in (("Found in", rule.bad), ("Quiet about", rule.good)):
        for example in examples:
            text.append(f"\n{head}:\n\n", "bold").append(indent(example.strip(), "  ") + "\n")
    text.highlight_words([HERE], "bold red")
    return text


def json_document(report: Report) -> str:
    members = {
        "version": VERSION,
        "files": report.files,
        "findings": [asdict(each) for each in report.findings],
        "troubles": [each.text for each in report.troubles],
        "rules": {
            each.name: {"title": each.title, "why": each.why, "instead": each.instead}
            for each in _broken(report)
        },
    }
    return json.dumps(members, indent=2) + "\n"


def github_annotations(report: Report) -> str:
    text = ""
    for each in report.findings:
        place = each.place
        lines = f",line={place.line},endLine={place.end_line},col={place.column}"
        where = f"file={_escaped(place.file, ':,')}{'' if place.cell is not None else lines}"
        text += f"::{each.severity} title={each.rule},{where}::"
        text += f"{_escaped(f'{each.sentence} {rules()[each.rule].instead}')}\n"
    return text + "".join(f"::{it.level}::{_escaped(it.text)}\n" for it in report.troubles)


def _escaped(text: str, also: str = "") -> str:
    for letter in f"%\r\n{also}":
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text
