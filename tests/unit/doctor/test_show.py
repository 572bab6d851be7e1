"""How a report is shown."""

import json
from pathlib import Path

import pytest

from autotune.doctor.check import check_paths
from autotune.doctor.report import Report, github_annotations, json_document, report_text
from autotune.doctor.rules import rules


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
    assert [each.split("::")[1] for each in lines[1:]] == ["error", "warning"]
    (folder / "bad.py").rename(folder / "a,b%.py")
    assert "/a%2Cb%25.py,line" in github_annotations(check_paths([folder / "a,b%.py"], rules()))
