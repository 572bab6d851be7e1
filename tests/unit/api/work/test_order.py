"""From a claimed job to the order for its process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.api.work.attempt import LAST_SECONDS
from autotune.api.work.child import SearchOrder
from autotune.config import Configuration
from tests.trials import ended_trial

Order = Callable[..., SearchOrder]


def test_the_order_holds_what_the_operator_registered(order_after: Order, tmp_path: Path) -> None:
    made = order_after()
    assert made.model == "examples/digits.py:model_fn"
    assert made.model_arguments == {"filters": 32}
    assert made.out == tmp_path / "jobs" / made.name.removeprefix("job ") / "1"
    assert made.options.budget == 180


@pytest.mark.parametrize(("used", "left"), [(100.0, 80.0), (175.0, LAST_SECONDS), (999.0, 15.0)])
def test_what_earlier_attempts_used_is_gone(order_after: Order, used: float, left: float) -> None:
    assert order_after(used_seconds=used).options.budget == left


def test_a_configuration_is_set_aside_after_its_second_death(order_after: Order) -> None:
    once, twice = Configuration(), Configuration(per_replica_batch=64)
    assert order_after(killers=(twice, once, twice)).excluded == (twice,)


def test_a_study_without_trials_begins_anew(order_after: Callable[..., SearchOrder]) -> None:
    """It may be of another machine, or of other code, whose trials would be kept."""
    kept = (ended_trial(),)
    assert order_after(study="{}").study is None
    assert order_after(study="{}", kept=kept).study == "{}"
