"""Every rule on its own examples, which are also its documentation."""

from pathlib import Path

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.rule import HERE, pages, rule
from autotune.doctor.rules import rules
from autotune.doctor.source import Text
from autotune.errors import UsageError
from tests.unit.doctor.programs import found, marked

PAGE = Path(__file__).parents[3] / "docs/extend.md"


def examples(kind: str) -> list[object]:
    return [
        pytest.param(name, example, id=f"{name}-{number}")
        for name, rule in rules().items()
        for number, example in enumerate(getattr(rule, kind))
    ]


@pytest.mark.parametrize(("name", "example"), examples("bad"))
def test_bad_code_is_found_where_it_is_marked(name: str, example: str) -> None:
    """In the marked lines and nowhere else, and no other rule speaks up."""
    assert marked(example)
    assert found(example) == [(name, line) for line in marked(example)]


@pytest.mark.parametrize(("name", "example"), examples("good"))
def test_right_code_is_left_alone(name: str, example: str) -> None:
    """No rule finds anything, and none is told apart by a comment."""
    assert HERE not in example, name
    assert found(example) == []


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    """With a title and sentences, and examples of both kinds that fit a page."""
    assert sorted(pages()) == [*pages()] == [*rules()]
    for each in rules().values():
        assert each.bad
        assert each.good
        assert each.why.endswith(".")
        assert each.instead.endswith(".")
        assert not each.title.endswith(".")
        lines = "\n".join((*each.bad, *each.good)).split("\n")
        assert max(map(len, lines)) <= 100, each.name


def test_the_page_about_rules_shows_one() -> None:
    text = PAGE.read_text("utf-8").partition("## A lint rule\n")[2]
    members: dict[str, object] = {}
    exec(text.split("```python\n")[1].split("```")[0], members)  # noqa: S102 - as it is imported
    page = text.partition("### distributed-in-loop\n")[2].partition("\n### ")[0]
    mine = rule(members["distributed_in_loop"], page)
    assert mine.name == "distributed-in-loop"
    for example, count in ((mine.bad[0], 1), (mine.good[0], 0)):
        report = check_text(Text(file="train.py", content=example), {mine.name: mine})
        assert len(report.findings) == count


def test_a_rule_without_a_page_is_told() -> None:
    with pytest.raises(UsageError, match=r"The rule check-text has no page .* `\*Why:\*`"):
        rule(check_text)
