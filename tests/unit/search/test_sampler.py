"""Who proposes what to try: the search's own sampler, Optuna's, or a user's."""

from importlib.util import find_spec
from typing import Any
from unittest.mock import Mock

import pytest
from optuna import Study
from optuna.pruners import BasePruner, MedianPruner
from optuna.samplers import RandomSampler
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial

from autotune import Verdict
from autotune.errors import MissingPackage
from autotune.events import Event, Notice

from .conftest import Tuner, speed


class Broken(RandomSampler):
    def sample_independent(self, *_: Any) -> Any:
        raise ArithmeticError("it cannot count")


class Elsewhere(RandomSampler):
    """Answers with a value that no axis has."""

    def sample_independent(self, *_: Any) -> Any:
        return "elsewhere"


class BrokenPruner(BasePruner):
    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        del study, trial
        raise ArithmeticError("it cannot count")


def test_whoever_proposes_the_answer_is_right(tuner: Tuner) -> None:
    result = tuner(speed(distributed=1.5), options={"sampler": "tpe", "budget": 60.0})
    assert result.verdict is Verdict.DISTRIBUTE


def test_a_sampler_of_ones_own(tuner: Tuner) -> None:
    sampler = RandomSampler(seed=0)
    sampler.sample_independent = Mock(wraps=sampler.sample_independent)
    result = tuner(speed(distributed=1.5), sampler=sampler, options={"budget": 40.0})
    assert sampler.sample_independent.called
    assert result.config.distributed


def test_a_pruner_of_ones_own(tuner: Tuner) -> None:
    storage = InMemoryStorage()
    tuner(speed(distributed=0.5), pruner=MedianPruner(), storage=storage)
    (study,) = storage.get_all_studies()
    trials = storage.get_all_trials(study._study_id)
    assert any(trial.intermediate_values for trial in trials)
    assert all(trial.datetime_start < trial.datetime_complete for trial in trials)


@pytest.mark.parametrize("given", [{"sampler": Broken()}, {"pruner": BrokenPruner()}])
def test_one_that_raises_ends_the_search_with_what_it_has(
    tuner: Tuner, given: dict[str, Any]
) -> None:
    told: list[Event] = []
    result = tuner(speed(distributed=0.5), observer=told.append, **given)
    texts = [each.text for each in told if isinstance(each, Notice)]
    who = next(iter(given))
    assert sum(f"the {who} raised ArithmeticError('it cannot count')" in t for t in texts) == 1
    assert result.script


def test_an_answer_outside_of_the_space_is_named(tuner: Tuner) -> None:
    told: list[Event] = []
    tuner(speed(), sampler=Elsewhere(), observer=told.append)
    assert any("'elsewhere' not in" in e.text for e in told if isinstance(e, Notice))


def test_what_a_sampler_lacks_is_named_before_anything_runs(tuner: Tuner) -> None:
    if find_spec("torch"):
        assert tuner(speed(), options={"sampler": "gp", "budget": 60.0}).trials
    else:
        with pytest.raises(MissingPackage, match="torch"):
            tuner(speed(), options={"sampler": "gp"})
