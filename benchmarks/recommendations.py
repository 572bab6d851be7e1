"""Throughput of what autotune recommends, against an exhaustive sweep of the same space.

    python benchmarks/recommendations.py [EXAMPLE ...]     (default: digits wide_dense lstm)

For each example: a search; then every configuration of the space once; then the best tenth of
these, what was recommended and the defaults three times more, in turns. Only the last runs are
compared, because the best of many single runs is too high. One pass of three is a small oracle:
its own interval is printed.
"""

from __future__ import annotations

import math
import os
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from autotune import Result, autotune
from autotune.config import Configuration
from autotune.measure import Noise, paired_ratio
from autotune.options import SearchOptions
from autotune.run.engine import Limits, Outcome, TrialRequest
from autotune.run.local import LocalEngine
from autotune.script import render
from autotune.search.runner import trial_of
from autotune.search.stopping import MeasureWatch
from autotune.space import candidates, load_space
from autotune.strategies import strategy
from autotune.trial import Stage

EXAMPLES = Path(__file__).parents[1] / "examples"
DEFAULT = ("digits", "wide_dense", "lstm")
SPACE = "quick"
BUDGET = "90s"
TURNS = 3


def main(names: list[str]) -> None:
    """Print a row for each example."""
    os.environ["AUTOTUNE_CACHE"] = "off"
    print(f"space {SPACE}, budget {BUDGET}; ratio to the best of the sweep, 95 % interval")
    print(
        f"{'example':<16}{'configs':>8}{'search s':>9}{'sweep s':>8}  {'share of best':<24} verdict"
    )
    for name in names or DEFAULT:
        with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
            _row(name, engine, Path(folder))


def _row(name: str, engine: LocalEngine, folder: Path) -> None:
    factory = str(EXAMPLES / f"{name}.py")
    result = autotune(
        f"{factory}:model_fn",
        f"{factory}:dataset_fn",
        space=SPACE,
        budget=BUDGET,
        out=folder / "search",
        engine=engine,
    )
    sweep = Sweep(engine, result, folder / "sweep")
    share, seconds, count = sweep.compare()
    print(
        f"{name:<16}{count:>8}{result.seconds:>9.0f}{seconds:>8.0f}  {share:<24} {result.verdict}",
        flush=True,
    )


class Sweep:
    """Runs configurations of a result's space outside any search."""

    def __init__(self, engine: LocalEngine, result: Result, folder: Path) -> None:
        self._engine = engine
        self._result = result
        self._folder = folder
        self._count = 0

    def compare(self) -> tuple[str, float, int]:
        """Return the share of the best as text, the sweep's seconds, and its size."""
        result = self._result
        space = load_space(SPACE)
        found = candidates(space, result.machine, result.facts, SearchOptions()).configurations
        began = self._engine.now()
        rates = {c: self.rate(c) for c in found}
        seconds = self._engine.now() - began
        ranked = sorted((c for c in found if rates[c]), key=lambda c: -rates[c])
        arms = list(dict.fromkeys([*ranked[: max(len(found) // 10, 2)], result.config]))
        turns = self._turns(arms)
        best = max(arms, key=lambda c: fmean(math.log(r) for r in turns[c] if r))
        noise = Noise(sd=0.10, degrees=4)
        return str(paired_ratio(turns[result.config], turns[best], noise)), seconds, len(found)

    def rate(self, configuration: Configuration) -> float:
        """Return examples per second; zero if it was not measured."""
        result = self._result
        self._count += 1
        run = self._engine.run(
            TrialRequest(
                configuration=configuration,
                script=render(configuration, result.workload, result.facts, result.machine).train,
                workload=result.workload,
                roles=strategy(configuration.strategy).roles(configuration, result.machine),
                folder=self._folder / str(self._count),
                limits=Limits(),
            ),
            MeasureWatch(),
        )
        trial = trial_of(self._count, Stage.FINAL, configuration, run, None)
        return (trial.examples_per_second or 0.0) if run.outcome is Outcome.MEASURED else 0.0

    def _turns(self, arms: list[Configuration]) -> dict[Configuration, list[float]]:
        turns: dict[Configuration, list[float]] = defaultdict(list)
        shuffle = random.Random(0)  # noqa: S311 - an order of runs
        for _ in range(TURNS):
            measured = {c: self.rate(c) for c in shuffle.sample(arms, len(arms))}
            if all(measured.values()):
                for configuration, rate in measured.items():
                    turns[configuration].append(rate)
        return turns


if __name__ == "__main__":
    main(sys.argv[1:])
