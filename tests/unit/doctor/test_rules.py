"""Every rule on its own examples, which are also its documentation."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.rule import HERE
from autotune.doctor.rules import rule_of, rules
from autotune.doctor.text import Text
from autotune.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs/extend/rule.md"


def examples(kind: str) -> list[object]:
    return [
        pytest.param(name, example, id=f"{name}-{number}")
        for name, rule in rules().items()
        for number, example in enumerate(getattr(rule, kind))
    ]


def found_in(example: str) -> list[tuple[str, int]]:
    report = check_text(Text(file="train.py", content=example), rules())
    return [(each.rule, each.place.line) for each in report.findings]


@pytest.mark.parametrize(("name", "example"), examples("bad"))
def test_bad_code_is_found_where_it_is_marked(name: str, example: str) -> None:
    """In the marked lines and nowhere else, and no other rule speaks up."""
    lines = enumerate(example.split("\n"), start=1)
    marked = [(name, number) for number, line in lines if line.endswith(HERE)]
    assert marked
    assert found_in(example) == marked


@pytest.mark.parametrize(("name", "example"), examples("good"))
def test_right_code_is_left_alone(name: str, example: str) -> None:
    """No rule finds anything, and none is told apart by a comment."""
    assert HERE not in example, name
    assert found_in(example) == []


@pytest.mark.parametrize("name", list(rules()))
def test_a_rule_says_all_that_is_needed(name: str) -> None:
    """Sentences with an end, and examples of both kinds."""
    rule = rules()[name]
    assert name == name.lower().replace("_", "-")
    assert rule.bad
    assert rule.good
    assert all(each.endswith(".") for each in (rule.why, rule.instead))
    assert not rule.title.endswith(".")


@pytest.mark.parametrize(("name", "example"), [*examples("bad"), *examples("good")])
def test_examples_are_python(name: str, example: str) -> None:
    """The documentation shows code that can be parsed, in lines that fit a page."""
    ast.parse(example)
    assert max(map(len, example.split("\n"))) <= 100, name


def test_the_page_about_rules_shows_one() -> None:
    """Its examples are found, and left alone."""
    code = PAGE.read_text("utf-8").split("```python\n")[1].split("```")[0]
    module = ModuleType("mine.distributed_in_loop")
    exec(code, module.__dict__)  # noqa: S102 - as it is imported
    rule = rule_of(module)
    assert rule.name == "distributed-in-loop"
    for example, count in ((rule.bad[0], 1), (rule.good[0], 0)):
        text = Text(file="train.py", content=example)
        assert len(check_text(text, {rule.name: rule}).findings) == count


def test_a_module_that_is_no_rule_is_told() -> None:
    """By what it lacks."""
    with pytest.raises(UsageError, match=r"The module json is no rule: it lacks check, BAD"):
        rule_of(ModuleType("json"))
