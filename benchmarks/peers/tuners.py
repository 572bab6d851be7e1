"""Random search and Optuna's TPE, as an engineer writes them in an afternoon.

A tuner measures one configuration after the other until the time is up. It recommends the fastest
of its own measurements, or the configuration that it returns.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Protocol

import optuna

from autotune.base import Scalar
from autotune.config import Configuration

BEST = 3
TIMES = 2
"""How often each of the best is measured again."""
STARTUP_SHARE = 0.25
"""Of the trials that the time allows. Optuna's default is 10, which is most of a short search."""
MOST_ASKED = 20
"""Times the configurations that may be proposed: TPE proposes known ones again and again."""


class Meter(Protocol):
    """Measures configurations while there is time, on a real machine or a replayed one."""

    @property
    def left(self) -> float:
        """Seconds."""
        ...

    @property
    def trial_seconds(self) -> float:
        """About how long a measurement takes."""
        ...

    def measure(self, configuration: Configuration) -> float | None:
        """Return examples per second, or None if the trial gave no figure."""
        ...


Tuner = Callable[[Sequence[Configuration], Meter, int], Configuration | None]
"""Searches configurations with a seed."""


def at_random(
    configurations: Sequence[Configuration], meter: Meter, seed: int
) -> Configuration | None:
    """Measure in random order, and the best few again in the last part of the time."""
    shuffle = random.Random(seed)  # noqa: S311 - an order of runs
    rates: dict[Configuration, float] = {}
    for each in shuffle.sample(configurations, len(configurations)):
        if meter.left <= BEST * TIMES * meter.trial_seconds:
            break
        rates[each] = meter.measure(each) or 0.0
    best = sorted(rates, key=lambda each: -rates[each])[:BEST]
    again: dict[Configuration, list[float]] = {each: [] for each in best}
    for each in best * TIMES:
        rate = meter.measure(each) if meter.left > 0 else None
        if rate:
            again[each].append(math.log(rate))
    means = {each: fmean(logs) for each, logs in again.items() if logs}
    return max(means, key=means.__getitem__, default=None)


def tpe(configurations: Sequence[Configuration], meter: Meter, seed: int) -> None:
    """Search with TPE that is random for a quarter of the trials that the time allows."""
    startup = max(2, round(STARTUP_SHARE * meter.left / meter.trial_seconds))
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)
    search(configurations, meter, sampler, lambda _: meter.left <= 0)


TUNERS: Mapping[str, Tuner] = {"random": at_random, "tpe": tpe}


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
