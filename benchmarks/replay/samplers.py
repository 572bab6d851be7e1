"""Which way of proposing configurations finds the best one soonest, on the replay tables.

    python -m benchmarks.replay.samplers [TABLE ...]

Every sampler starts from the default and proposes one configuration after the other out of the
whole table; each is measured once, with the table's noise. Printed is the true throughput of the
best configuration that was tried so far, as a share of the table's best: mean over tables and
seeds, with a bootstrap interval over the seeds.
"""

from __future__ import annotations

import math
import random
import sys
import warnings
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from statistics import fmean

import numpy as np
import optuna

from autotune.config import Configuration
from autotune.measure import EXPECTED, Noise
from autotune.reason import Completed
from autotune.run.engine import Outcome
from autotune.search.design import default_in
from autotune.search.history import History
from autotune.search.sampler import SAMPLER, MakeSampler
from autotune.search.surrogate import Expectations
from autotune.space import candidates
from autotune.trial import Stage, Trial
from benchmarks.replay.characters import character
from benchmarks.replay.rivals.additive import Additive
from benchmarks.replay.rivals.factor_wise import FactorWise
from benchmarks.replay.rivals.optuna_pool import OptunaSampler
from benchmarks.replay.rivals.trees import Trees
from benchmarks.replay.table import read_all
from benchmarks.replay.world import World, world_of

TRIALS = (5, 10, 15, 20, 30)
SEEDS = 12


class Chance:
    """Random search."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a sampler

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration:
        """Return any untried configuration."""
        del history
        return self._random.choice(untried)


SAMPLERS: dict[str, MakeSampler] = {
    "gaussian process (ours)": SAMPLER,
    "additive ridge": lambda *_: Additive(),
    "randomized trees": lambda expectations, seed: Trees(expectations.pool, seed),
    "one factor at a time": lambda *_: FactorWise(),
    "Optuna TPE": lambda expectations, seed: OptunaSampler(
        expectations.pool, optuna.samplers.TPESampler(seed=seed, n_startup_trials=4)
    ),
    "Optuna CMA-ES": lambda expectations, seed: OptunaSampler(
        expectations.pool, optuna.samplers.CmaEsSampler(seed=seed)
    ),
    "Optuna QMC": lambda expectations, seed: OptunaSampler(
        expectations.pool, optuna.samplers.QMCSampler(seed=seed)
    ),
    "random": lambda _, seed: Chance(seed),
}
"""Each can be given to `Search` too."""
EQUAL_SECONDS = 1e6
"""Every trial takes as long as the others: what counts here is how many are made."""


def main(names: Sequence[str]) -> None:
    """Print a row for each sampler."""
    warnings.simplefilter("ignore")
    worlds = [world_of(table) for table in read_all(names)]
    print(f"{'after trials':<26}" + "".join(f"{count:>22}" for count in TRIALS))
    for name, make in SAMPLERS.items():
        shares: dict[int, list[float]] = defaultdict(list)
        for world, seed in product(worlds, range(SEEDS)):
            for count, share in _shares(world, make, seed).items():
                shares[count].append(share)
        print(f"{name:<26}" + "".join(f"{_interval(shares[count]):>22}" for count in TRIALS))


def _shares(world: World, make: MakeSampler, seed: int) -> dict[int, float]:
    pool, start = _pool(world)
    history = History([], Noise(sd=world.noise, degrees=EXPECTED.degrees))
    sampler = make(Expectations(history, pool), seed)
    noise = random.Random(seed)  # noqa: S311 - noise
    best, found = 0.0, {}
    for count in range(1, TRIALS[-1] + 1):
        tried = history.tried
        untried = [c for c in pool if c not in tried]
        chosen = sampler.propose(history, untried) or untried[0] if tried else start
        truth = world.rates.get(chosen)
        history.add(_trial(count, chosen, truth and truth * math.exp(noise.choice(world.scatter))))
        best = max(best, truth or 0.0)
        found[count] = best / world.best
    return {count: found[count] for count in TRIALS}


def _trial(number: int, configuration: Configuration, rate: float | None) -> Trial:
    return Trial(
        number=number,
        stage=Stage.EXPLORE,
        configuration=configuration,
        outcome=Outcome.MEASURED if rate else Outcome.FAILED,
        reason=Completed(),
        examples_per_second=rate,
        wall_seconds=EQUAL_SECONDS,
    )


def _pool(world: World) -> tuple[Sequence[Configuration], Configuration]:
    table, swept = world.table, character(world.table.name)
    found = candidates(swept.space, table.machine, table.facts, swept.constraints)
    return found.configurations, default_in(found.one_device)


def _interval(values: Sequence[float]) -> str:
    draw = np.random.default_rng(0)
    means = [fmean(draw.choice(values, len(values))) for _ in range(200)]
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{fmean(values):.1%} ({low:.1%}-{high:.1%})"


if __name__ == "__main__":
    main(sys.argv[1:])
