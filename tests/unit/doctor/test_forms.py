"""Mistakes in the many ways in which people write them, beside code that looks alike."""

import re
from collections.abc import Iterator

import pytest

from autotune.doctor.rule import HERE
from tests.unit.doctor.forms import (
    batches,
    beside,
    frozen,
    parts,
    precision,
    replicas,
    seeds,
    shares,
    threads,
    twice,
    variants,
    weights,
)
from tests.unit.doctor.programs import filled, found, marked, programs

STRATEGY = re.compile(r"^strategy = .*\n", re.MULTILINE)
KINDS = [
    *((each, "") for each in (batches, beside, frozen, parts, replicas)),
    *((each, "") for each in (seeds, shares, threads, twice, weights)),
    (batches, "WHOLE_"),
    *((replicas, each) for each in ("INSIDE_", "CREATED_")),
]


def forms(kind: str) -> Iterator[object]:
    for module, which in KINDS:
        rule = getattr(module, f"{which}RULE")
        for name, code, _ in programs(module, f"{which}{kind}"):
            own = STRATEGY.search(code)
            head = STRATEGY.sub("", module.IMPORTS) if own else module.IMPORTS
            yield pytest.param(rule, head + filled(code, module), id=f"{rule}: {name}")


def rows() -> Iterator[object]:
    for module in (precision, variants):
        for name, code, ends in programs(module, "PROGRAMS"):
            for end in ends.splitlines():
                fill, _, expected = end.removeprefix("#=").rpartition("->")
                whole = code.replace("@@", fill.strip().replace("|", "\n"))
                program = module.HEAD + filled(whole, module)
                yield pytest.param(program, expected.split(), id=f"{name}: {fill.strip()}")


@pytest.mark.parametrize(("rule", "code"), [*forms("BAD")])
def test_every_form_is_found(rule: str, code: str) -> None:
    """In the marked lines and nowhere else."""
    assert marked(code)
    assert [line for name, line in found(code) if name == rule] == marked(code)


@pytest.mark.parametrize(("rule", "code"), [*forms("GOOD")])
def test_what_looks_alike_is_left_alone(rule: str, code: str) -> None:
    assert rule not in [name for name, _ in found(code.replace(f"  {HERE}", ""))]


@pytest.mark.parametrize(("code", "expected"), [*rows()])
def test_what_is_wrong_is_found_and_nothing_else(code: str, expected: list[str]) -> None:
    assert [name for name, _ in found(code)] == expected


def test_every_program_is_read() -> None:
    """None has lost its name or what is expected of it."""
    for module in (precision, variants):
        read = [ends for _, _, ends in programs(module, "PROGRAMS")]
        assert module.PROGRAMS.count("#: ") == len(read)
        assert module.PROGRAMS.count("\n#= ") == "".join(read).count("#= ")
