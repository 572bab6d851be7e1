"""The plainest forms of mistakes that people asked about, in the words of nobody but us."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "field" / "doctor"
EXPECTED = {
    ("race.py", 14): "unlocked-threads",
    ("next_batch.py", 12): "next-in-replica",
    ("seed.py", 13): "one-seed-for-replicas",
    ("beside.py", 19): "strategy-never-run",
    ("whole.py", 7): "same-dataset-on-devices",
}


@pytest.fixture(scope="module")
def found(run: Callable[..., object]) -> dict[tuple[str, int], str]:
    done = run("doctor", FOLDER, "--output-format", "json", "--ignore", "run-outside-function")
    assert done.returncode == 1, done.stderr
    findings = json.loads(done.stdout)["findings"]
    places = [(Path(each["place"]["file"]).name, each["place"]["line"]) for each in findings]
    assert len(places) == len(set(places))
    return dict(zip(places, (each["rule"] for each in findings), strict=True))


@pytest.mark.parametrize("place", EXPECTED)
def test_a_plain_mistake_is_found(
    found: dict[tuple[str, int], str], place: tuple[str, int]
) -> None:
    """In its line, by the rule that explains it."""
    assert found[place] == EXPECTED[place]


def test_nothing_else_is_found(found: dict[tuple[str, int], str]) -> None:
    """Each program makes one mistake."""
    assert found.keys() == EXPECTED.keys()
