"""Two jobs beside each other."""

from __future__ import annotations

import pytest

from autotune.api.comparison import ObstacleKind, Side, compared, side
from autotune.api.http import examples
from autotune.api.values import Job
from autotune.result import Result
from autotune.testing import fake_machine

WHOLE = Result.model_validate(examples.WHOLE)
DONE = Job.model_validate({**examples.DONE, "budget": 300.0}, extra="ignore")


def one(**changes: object) -> Side:
    """Return a job with a result, changed in some way."""
    return side(DONE.model_copy(update=changes), 60.0, WHOLE)


def kinds(first: Side, second: Side) -> list[ObstacleKind]:
    """Return why two jobs cannot be compared."""
    return [each.kind for each in compared(first, second).obstacles]


def test_the_same_on_the_same_machine_can_be_compared() -> None:
    """Labels, priority and what was asked for beside make no difference to that."""
    other = one(labels={"team": "vision"}, priority=-3, seed=7, params={"filters": 1})
    found = compared(one(params={}), other)
    assert found.obstacles == ()
    told = {each.name: each.values for each in found.differences}
    assert told == {"params.filters": (None, 1), "seed": (DONE.seed, 7)}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"workload": "lstm"}, ObstacleKind.WORKLOAD),
        ({"code": "another"}, ObstacleKind.CODE),
        ({"code": None}, ObstacleKind.CODE),
        ({"code_changed": True}, ObstacleKind.CODE_CHANGED),
        ({"objective": "cost"}, ObstacleKind.OBJECTIVE),
    ],
)
def test_what_keeps_figures_apart_is_named(changes: dict[str, object], kind: ObstacleKind) -> None:
    """Whichever of the two is the odd one."""
    assert kinds(one(), one(**changes)) == kinds(one(**changes), one()) == [kind]


def test_another_machine_or_no_result_is_named() -> None:
    """What no machine is known of is not said to be of another."""
    elsewhere = one().model_copy(update={"machine": fake_machine(gpus=("H100",))})
    assert kinds(one(), elsewhere) == [ObstacleKind.MACHINE]
    assert kinds(one(), side(DONE, 0.0, None)) == [ObstacleKind.NO_RESULT]


def test_every_obstacle_is_told_in_words() -> None:
    """In a sentence of its own."""
    both = one(code=None), side(DONE.model_copy(update={"workload": "lstm"}), 0.0, None)
    told = compared(*both).model_dump(mode="json")["obstacles"]
    assert [each["kind"] for each in told] == ["no-result", "workload", "code"]
    assert len({each["sentence"] for each in told}) == 3
