"""How a report is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from autotune.doctor.check import check_paths
from autotune.doctor.report import Report
from autotune.doctor.rules import rules
from autotune.doctor.show import (
    github_annotations,
    json_document,
    report_text,
    sarif_document,
)

ROOT = Path(__file__).parents[3]


def of(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """A schema of an object with these members, and no others."""
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


def several(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = of({"text": TEXT})
REGION = of({"startLine": COUNT}, startColumn=COUNT, endLine=COUNT, endColumn=COUNT)
ADDRESS = of({"uri": {"type": "string", "format": "uri-reference", "minLength": 1}})
LOCATION = of({"physicalLocation": of({"artifactLocation": ADDRESS}, region=REGION)})
RULE = of(
    {"id": TEXT},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=of({"level": LEVEL}),
)
DRIVER = of({"name": TEXT}, semanticVersion=TEXT, rules=several(RULE))
NOTICE = of({"message": MESSAGE}, level=LEVEL)
RESULT = of(
    {"message": MESSAGE},
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    locations=several(LOCATION),
)
RUN = of(
    {"tool": of({"driver": DRIVER})},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=several(
        of({"executionSuccessful": {"type": "boolean"}}, toolExecutionNotifications=several(NOTICE))
    ),
    results=several(RESULT),
)
SARIF = of({"version": {"const": "2.1.0"}, "runs": several(RUN)}, **{"$schema": TEXT})
"""The part of the schema of SARIF 2.1.0 that is used: its names, and what it requires."""


@pytest.fixture
def report(folder: Path) -> Report:
    """A finding, a file that cannot be parsed, and a comment with an unknown rule."""
    (folder / "broken.py").write_text("x = (\n")
    (folder / "odd name.py").write_text("# autotune: ignore[nosuch]\n")
    return check_paths([folder], rules())


def test_a_plain_line_can_be_clicked_and_searched(report: Report) -> None:
    """FILE:LINE:COLUMN rule sentence, and the reasons once below."""
    lines = report_text(report).plain.splitlines()
    assert lines[0].startswith(f"{Path.cwd()}/bad.py:5:5 run-outside-function strategy.run is ")
    assert [each for each in lines if each.startswith(("  Why: ", "  Instead: "))][1:]
    assert lines[-1] == "1 finding in 3 files."


def test_nothing_is_told_in_one_line(folder: Path) -> None:
    """With the number of files, so that a wrong folder is noticed."""
    (folder / "bad.py").unlink()
    assert report_text(check_paths([folder], rules())).plain == "No findings in 0 files.\n"


def test_json_holds_everything(report: Report) -> None:
    """Findings, what could not be read, and the words of the broken rules."""
    read = json.loads(json_document(report))
    assert read["findings"][0]["place"]["line"] == 5
    assert read["findings"][0]["severity"] == "warning"
    assert len(read["troubles"]) == 2
    assert list(read["rules"]) == ["run-outside-function"]


def test_github_shows_each_finding_at_its_place(folder: Path, report: Report) -> None:
    """As a command in a line, in which signs that have a meaning are escaped."""
    lines = github_annotations(report).splitlines()
    where = f"file={folder}/bad.py,line=5,endLine=5,col=5"
    assert lines[0].startswith(f"::warning title=run-outside-function,{where}::strategy.run is ")
    assert [each.partition("::")[2].partition("::")[0] for each in lines[1:]] == [
        "error",
        "warning",
    ]
    (folder / "bad.py").rename(folder / "a,b%.py")
    assert "/a%2Cb%25.py,line" in github_annotations(check_paths([folder / "a,b%.py"], rules()))


def test_sarif_has_the_required_structure(report: Report) -> None:
    """Names and required members are those of SARIF 2.1.0."""
    document = json.loads(sarif_document(report))
    validator = jsonschema_rs.Draft7Validator(SARIF, validate_formats=True)
    assert [each.message for each in validator.iter_errors(document)] == []


def test_sarif_points_to_the_rule_and_the_place(report: Report) -> None:
    """By index and by name, relative to the working folder."""
    run = json.loads(sarif_document(report))["runs"][0]
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "bad.py"
    assert location["region"]["startLine"] == 5
    levels = [each["level"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert sorted(levels) == ["error", "warning"]
    assert not run["invocations"][0]["executionSuccessful"]
