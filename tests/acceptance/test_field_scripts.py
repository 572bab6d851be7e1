"""Scripts as people have them: what is read from one, and what keeps one from being tuned."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import FIELD, Run

pytestmark = pytest.mark.real

Plan = Callable[[str], dict[str, Any]]


@pytest.fixture
def plan(run: Run) -> Plan:
    """Gives the card of a search of one of the scripts, as JSON."""

    def plan(name: str) -> dict[str, Any]:
        done = run("tune", FIELD / name, "--dry-run", "--json", "--space", "cpu")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return plan


@pytest.mark.parametrize(
    ("name", "batch", "examples"), [("one_generator.py", 8, 240), ("ends.py", 6, 200)]
)
def test_a_generator_has_the_batch_that_it_gives_and_is_never_cached(
    plan: Plan, name: str, batch: int, examples: int
) -> None:
    """Its steps or its end tell the examples of an epoch."""
    found = plan(name)
    facts = found["facts"]
    assert (facts["usual_batch"], facts["examples"]) == (batch, examples)
    assert not facts["repeatable"]
    assert not any(axis["name"] == "cache" for each in found["strategies"] for axis in each["axes"])


def test_only_kerass_fits_count(run: Run, plan: Plan) -> None:
    """Others keep no worker away, and are no choice of --fit."""
    fit = plan("other_fits.py")["facts"]["fit"]
    assert (fit["others"], fit["alone"]) == ([], None)
    chosen = run("tune", FIELD / "other_fits.py", "--dry-run", "--fit", "2")
    assert chosen.returncode == 2
    assert "Choose by number from: 1: self.network, line 14." in chosen.stderr


def test_a_script_of_another_backend_is_told_of_it(run: Run) -> None:
    """Because what only that backend can has failed."""
    done = run("tune", FIELD / "jax_scatter.py", "--dry-run")
    assert done.returncode == 2
    assert "backend jax, which was replaced by TensorFlow" in done.stderr
