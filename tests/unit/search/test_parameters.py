"""The configurations of a search as parameters of an Optuna study, and runs that are pruned."""

import math
import random

import optuna
from optuna.trial import FixedTrial

from autotune.config import Configuration
from autotune.search.parameters import Parameters
from autotune.search.stopping import CLIMB, ERROR, Reference, SlowerThanOneDevice

ALONE = [Configuration(per_replica_batch=b, xla=x) for b in (32, 64) for x in (False, True)]
TWO = [
    Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=32, reduction=r)
    for r in ("default", "hierarchical")
]
POOL = [*ALONE, *TWO]


def test_each_configuration_has_parameters_of_its_own() -> None:
    """And they lead back to it; a sampler may also combine what the machine cannot run."""
    parameters = Parameters(POOL)
    shown = [parameters.of(each) for each in POOL]
    assert [parameters.suggested(FixedTrial(dict(each))) for each in shown] == POOL
    some = Parameters([ALONE[0], ALONE[3]])
    assert some.suggested(FixedTrial({"per_replica_batch": 64, "xla": False})) is None


def test_what_one_strategy_has_is_asked_of_it_alone() -> None:
    """The reduction is no parameter of one device, nor its batch one of two."""
    parameters = Parameters(POOL)
    assert parameters.of(ALONE[0]).keys() == {"strategy", "per_replica_batch", "xla"}
    assert parameters.of(TWO[0]).keys() == {"strategy", "reduction"}


def pruned(logs: dict[int, float], *, error: float = 0.0, climb: float = 0.0) -> bool:
    """Whether a run of these logarithms by half seconds is stopped, beside one at zero."""
    study = optuna.create_study(
        direction="maximize", pruner=SlowerThanOneDevice(lambda: Reference(log_score=0.0, sd=0.05))
    )
    trial = study.ask()
    trial.set_user_attr(ERROR, error)
    trial.set_user_attr(CLIMB, climb)
    for step, log in logs.items():
        trial.report(math.exp(log), step)
        if trial.should_prune():
            return True
    return False


def test_what_is_surely_slower_is_stopped() -> None:
    assert pruned({1: -0.5})
    assert not pruned({1: -0.1})
    assert not pruned({1: -0.5}, climb=0.5)
    assert not pruned({1: -0.5}, error=0.3)


def test_a_run_that_is_as_fast_is_hardly_ever_stopped() -> None:
    """Half a per cent is promised, over all looks together."""
    draw = random.Random(2)
    wrong = sum(pruned(dict.fromkeys((1, 3, 10), draw.gauss(0, 0.05))) for _ in range(1000))
    assert wrong <= 10
