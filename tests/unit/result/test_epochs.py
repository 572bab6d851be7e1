"""What is said of an epoch: the time it is to take, and what lies between two."""

import json
from typing import Any

import pytest

from autotune.checks.scaling import Diagnosis, Predicted
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.result.explanations import target_lines
from autotune.stats.intervals import Interval
from autotune.text import parse_seconds, roughly

from .conftest import GANG, changed, make_trial, step


def predicted(hosts: int, seconds: float) -> Predicted:
    steps = Interval(low=0.9 * seconds, value=seconds, high=1.1 * seconds)
    return Predicted(hosts=hosts, seconds=steps, speedup=steps)


DIAGNOSIS = Diagnosis(
    one_device=step(GANG.on_one_device(), 64.0), predicted=(predicted(4, 0.128), predicted(8, 0.16))
)
"""By steps of 64 examples a worker, of which 4 machines make 2,000 a second, and 8 make 3,200."""


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ("2min", []),
        ("1min", ["4 machines are predicted to take 50 s (45 s to 55 s), at a price of 0.111;"]),
        ("35s", ["8 machines are predicted to take 31 s"]),
        ("10s", ["No number of machines is predicted to reach it: 8 come nearest, with 31 s"]),
    ],
)
def test_a_target_is_compared_with_what_is_predicted(asked: str, more: list[str]) -> None:
    """As recommended first, then on the fewest machines, then by how much nothing reaches it."""
    result = changed(
        options=SearchOptions(epoch_in=asked, price=2.0),
        trials=(make_trial(0), make_trial(1, GANG)),
        configuration=GANG,
        facts=changed().facts.model_copy(update={"examples": 100_000}),
        diagnosis=DIAGNOSIS,
    )
    first, *others = target_lines(result)
    now = "An epoch of 100,000 examples takes 1 min 40 s (1 min 31 s to 1 min 50 s) as recommended"
    assert first == f"{now}; {roughly(parse_seconds(asked))} were asked for."
    assert all(text in line for text, line in zip(more, others, strict=True))


def test_nothing_is_predicted_from_one_machine() -> None:
    facts = changed().facts.model_copy(update={"examples": 100_000})
    options = SearchOptions(epoch_in="1min")
    *_, last = target_lines(changed(options=options, facts=facts))
    assert "a search on at least two:" in last
    assert not [*target_lines(changed())]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (0.75, "take 0.75 s"),
        ({"validation": 0.5, "checkpoint": 0.25}, "take 0.75 s"),
        (0.0, None),
        (None, None),
    ],
)
def test_what_lies_between_epochs_is_told(found: Any, said: str | None) -> None:
    """Beside the epoch, with its share; a stored result may tell the two apart."""
    kept = json.loads(changed().model_dump_json()) | {"between": found}
    reasons = Result.model_validate_json(json.dumps(kept)).reasons
    lines = [each for each in reasons if each.startswith("After each epoch")]
    assert len(lines) == (said is not None)
    assert all(f"validation and checkpoints {said}: " in line for line in lines)
