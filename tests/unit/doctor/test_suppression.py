"""Comments that silence rules."""

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.report import Report
from autotune.doctor.rules import rules
from autotune.doctor.source import Text

NAME = "run-outside-function"


def check(content: str) -> Report:
    return check_text(Text(file="train.py", content=content), rules())


@pytest.mark.parametrize(
    "comment",
    [
        f"# autotune: ignore[{NAME}]",
        f"#autotune:ignore[shards-off, {NAME}]",
        "# autotune: ignore",
        f"# noqa: E501 # autotune: ignore[{NAME}] because it is a test",
        "# noqa",
        f"# NOQA:{NAME}",
        f"# noqa: E501, {NAME}",
        f"# type: ignore # noqa: {NAME}",
    ],
)
def test_a_line_is_silenced(bad: str, comment: str) -> None:
    """By the name of the rule among others, or for all rules."""
    assert check(bad.replace("(batch,))", f"(batch,))  {comment}")).findings == ()


def test_the_last_line_of_a_call_counts_as_well(bad: str) -> None:
    """Formatters move comments there."""
    code = bad.replace("(lambda", "(\n        lambda").replace(
        "(batch,))", f"(batch,),\n    )  # autotune: ignore[{NAME}]"
    )
    assert check(code).findings == ()


@pytest.mark.parametrize(
    "comment", [f"ignore-file[{NAME}]", "ignore-file", "noqa", f"noqa: shards-off, {NAME}"]
)
def test_a_file_is_silenced(bad: str, comment: str) -> None:
    assert check(f"{bad}\n# autotune: {comment}\n").findings == ()


@pytest.mark.parametrize(
    "comment",
    [
        "# autotune: ignore[shards-off]",
        "'# autotune: ignore'",
        "# autotune: ignored",
        "# noqa: E501",
    ],
)
def test_other_comments_silence_nothing(bad: str, comment: str) -> None:
    """Another rule, a text that is no comment, another word."""
    assert len(check(bad.replace("(batch,))", f"(batch,)); {comment}")).findings) == 1


def test_an_unknown_rule_is_told(bad: str) -> None:
    """With its place; the file is checked all the same."""
    report = check(f"{bad}# autotune: ignore[nosuch, {NAME}]\n")
    assert len(report.findings) == 1
    assert report.complete
    assert "train.py:6" in report.troubles[0].text
    assert "nosuch" in report.troubles[0].text
    assert NAME not in report.troubles[0].text
