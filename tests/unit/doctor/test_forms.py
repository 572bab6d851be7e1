"""Mistakes in the many ways in which people write them, beside code that looks alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.rule import HERE
from autotune.doctor.rules import rules
from autotune.doctor.text import Text
from tests.unit.doctor.forms import batches, beside, parts, seeds, threads, twice

NAMED = re.compile(r"^#: (.+)\n((?:(?!#: ).*\n)*)", re.MULTILINE)
STRATEGY = re.compile(r"^strategy = .*\n", re.MULTILINE)
WORDS = {"START": threads.START, "MADE": beside.MADE, "STEP": beside.STEP}
KINDS = [
    (threads.RULE, threads.IMPORTS, threads.BAD, threads.GOOD),
    (batches.RULE, batches.IMPORTS, batches.BAD, batches.GOOD),
    (batches.WHOLE_RULE, batches.IMPORTS, batches.WHOLE_BAD, batches.WHOLE_GOOD),
    (seeds.RULE, seeds.IMPORTS, seeds.BAD, seeds.GOOD),
    (beside.RULE, beside.IMPORTS, beside.BAD, beside.GOOD),
    (parts.RULE, parts.IMPORTS, parts.BAD, parts.GOOD),
    (twice.RULE, twice.IMPORTS, twice.BAD, twice.GOOD),
]


def programs(*, good: bool) -> Iterator[object]:
    for rule, imports, bad_ones, good_ones in KINDS:
        for name, code in NAMED.findall(good_ones if good else bad_ones):
            lines = [WORDS.get(each, each).strip("\n") for each in code.split("\n")]
            own = re.search(r"^strategy = ", code, re.MULTILINE)
            head = STRATEGY.sub("", imports) if own else imports
            yield pytest.param(rule, head + "\n".join(lines), id=f"{rule}: {name}")


def found_in(rule: str, code: str) -> list[int]:
    report = check_text(Text(file="train.py", content=code), {rule: rules()[rule]})
    return [each.place.line for each in report.findings]


@pytest.mark.parametrize(("rule", "code"), [*programs(good=False)])
def test_every_form_is_found(rule: str, code: str) -> None:
    """In the marked lines and nowhere else."""
    lines = enumerate(code.split("\n"), start=1)
    marked = [number for number, line in lines if line.endswith(HERE)]
    assert marked
    assert found_in(rule, code) == marked


@pytest.mark.parametrize(("rule", "code"), [*programs(good=True)])
def test_what_looks_alike_is_left_alone(rule: str, code: str) -> None:
    """Nothing is found by the rule of the mistake."""
    assert HERE not in code
    assert found_in(rule, code) == []
