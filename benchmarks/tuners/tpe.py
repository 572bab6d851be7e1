"""An Optuna loop as a good engineer writes it in an afternoon: TPE, each trial measured once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import optuna

from autotune.config import Configuration
from autotune.value import Scalar
from benchmarks.tuners.meter import Meter

DEFAULT_STARTUP = 10
"""Trials that Optuna's TPE draws at random before it learns, unless it is told otherwise."""
STARTUP_SHARE = 0.25
"""Of the trials that the time allows, so that it does learn in a short search."""
MOST_ASKED = 20
"""Times the configurations that may be proposed: TPE proposes known ones again and again."""


def tpe(configurations: Sequence[Configuration], meter: Meter, seed: int) -> None:
    """Search with Optuna's TPE as it comes."""
    search(configurations, meter, _sampler(seed, DEFAULT_STARTUP), in_time(meter))


def tpe_in_proportion(configurations: Sequence[Configuration], meter: Meter, seed: int) -> None:
    """Search with TPE that is random for a quarter of the trials that the time allows."""
    affordable = meter.left / meter.trial_seconds
    startup = max(2, round(STARTUP_SHARE * affordable))
    search(configurations, meter, _sampler(seed, startup), in_time(meter))


def search(
    configurations: Sequence[Configuration],
    meter: Meter,
    sampler: optuna.samplers.BaseSampler,
    ends: Callable[[optuna.Study], bool],
) -> None:
    """Search with a sampler of Optuna until that ends, or everything was measured."""
    known: dict[Configuration, float | None] = {}
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        chosen = suggest(trial, configurations)
        if chosen not in known:
            known[chosen] = meter.measure(chosen)
        rate = known[chosen]
        if rate is None:
            raise optuna.TrialPruned
        if len(known) == len(configurations):
            study.stop()
        return rate

    def stop(study: optuna.Study, _: optuna.trial.FrozenTrial) -> None:
        if ends(study):
            study.stop()

    study.optimize(objective, n_trials=MOST_ASKED * len(configurations), callbacks=[stop])


def in_time(meter: Meter) -> Callable[[optuna.Study], bool]:
    return lambda _: meter.left <= 0


def _sampler(seed: int, startup: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)


def suggest(trial: optuna.Trial, configurations: Sequence[Configuration]) -> Configuration:
    """Return a configuration of the list.

    An axis that has the same values under every strategy is one parameter; another has one of its
    own per strategy, because Optuna's choices must not change from trial to trial.
    """
    chosen = trial.suggest_categorical("strategy", _values("strategy", configurations))
    here = [each for each in configurations if each.strategy == chosen]
    fields: dict[str, Scalar | None] = {}
    for axis in configurations[0].values():
        choices = _values(axis, here)
        if len(choices) > 1:
            shared = choices == _values(axis, configurations)
            name = axis if shared else f"{chosen}.{axis}"
            fields[axis] = trial.suggest_categorical(name, choices)
    for each in here:
        if all(each[axis] == value for axis, value in fields.items()):
            return each
    raise optuna.TrialPruned


def _values(axis: str, configurations: Sequence[Configuration]) -> list[Scalar]:
    return list(dict.fromkeys(each[axis] for each in configurations))
