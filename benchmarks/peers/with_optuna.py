"""An Optuna loop as a good engineer writes it in an afternoon: TPE, a fresh process per trial."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import optuna
from gang import measure
from job import Job

from autotune.config import Configuration
from autotune.value import Scalar


def main() -> None:
    """Search until the time is up."""
    job = Job.load(sys.argv[1])
    known: dict[Configuration, float] = {}

    def objective(trial: optuna.Trial) -> float:
        configuration = suggest(trial, job.configurations)
        # TPE proposes some configurations again and again in a finite space.
        if configuration not in known:
            rate = measure(job, configuration)
            if rate is None:
                raise optuna.TrialPruned
            known[configuration] = rate
        return known[configuration]

    sampler = optuna.samplers.TPESampler(seed=job.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, timeout=job.left)


def suggest(trial: optuna.Trial, configurations: Sequence[Configuration]) -> Configuration:
    """Return a configuration of the list.

    An axis that has the same values under every strategy is one parameter; another has one of its
    own per strategy, because Optuna's choices must not change from trial to trial.
    """
    chosen = trial.suggest_categorical("strategy", values("strategy", configurations))
    here = [each for each in configurations if each.strategy == chosen]
    fields: dict[str, Scalar] = {}
    for axis in configurations[0].values():
        choices = values(axis, here)
        if len(choices) > 1:
            shared = choices == values(axis, configurations)
            name = axis if shared else f"{chosen}.{axis}"
            fields[axis] = trial.suggest_categorical(name, choices)
    for each in here:
        if all(each[axis] == value for axis, value in fields.items()):
            return each
    raise optuna.TrialPruned


def values(axis: str, configurations: Sequence[Configuration]) -> list[Scalar]:
    """Return the values that an axis has in a list."""
    return list(dict.fromkeys(each[axis] for each in configurations))


if __name__ == "__main__":
    main()
