"""Draws the figures of the pages, on recorded sweeps: `python -m tools.docs.figures [NAME]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from autotune.config import Configuration
from autotune.search import search as module
from benchmarks.plots import ALONE, PALE, SEVERAL, STYLE
from benchmarks.replay.contest import AUTOTUNE, DEFAULT, Entered, shares_held
from benchmarks.replay.goals import RECORDED
from benchmarks.replay.outcome import Job, world_in
from benchmarks.replay.replay import replay

FOLDER = Path("docs/figures")
TABLE, SECONDS, SEED = "segments", 180.0, 1
"""A recorded workload whose best distributed configuration gains 13 %."""
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)

HELD_OUT, SEARCHES = ("forecast", "pictures", "sensors", "tagging"), 3
"""Recorded workloads that the search was not developed on, and how often each is searched."""
TUNERS = {AUTOTUNE: SEVERAL, "TPE, start-up in proportion": PALE, "random search": ALONE}


class Watched(module.Search):
    """A search that keeps what it believed before each run."""

    seen: list[tuple[float, list[float], float]]
    """Seconds, quantiles of the gain as a ratio, and the probability that distributing gains."""

    def _next(self) -> Configuration | None:
        chosen = super()._next()
        if self._now is not None and self._now.gain.many is not None:
            gain = self._now.gain
            ratios = np.exp(np.quantile(gain.draws, QUANTILES)).tolist()
            self.seen.append((self._budget.elapsed, ratios, gain.faster))
        return chosen


def draw_posterior() -> None:
    """Draw how the posterior of the gain narrows over a search."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - the backend is chosen before

    world = world_in(TABLE, RECORDED)
    Watched.seen = []
    replay(world, SECONDS, SEED, search=Watched)
    seconds = [each[0] for each in Watched.seen]
    low, lower, middle, upper, high = np.array([each[1] for each in Watched.seen]).T
    truth = world.best_of(distributed=True) / world.best_of(distributed=False)
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(7, 4.4), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    above.fill_between(seconds, low, high, alpha=0.2, step="post", label="95 %")
    above.fill_between(seconds, lower, upper, alpha=0.4, step="post", label="50 %")
    above.step(seconds, middle, where="post", label="median")
    above.axhline(1, color="gray", linewidth=0.8)
    above.axhline(truth, color="black", linestyle=":", linewidth=1, label="truth")
    above.set(ylabel="times one device", ylim=(min(0.8, low[-1]), max(1.4, high[-1])))
    above.legend(ncols=4, loc="upper right", frameon=False)
    below.step(seconds, [each[2] for each in Watched.seen], where="post")
    below.axhline(0.99, color="gray", linewidth=0.8)
    below.set(ylabel="probability\nof a gain", xlabel="seconds of the search", ylim=(0, 1.05))
    _save(figure, "posterior.svg")


def draw_regret() -> None:
    """Draw how far autotune and other tuners are from the best, over the time of a search."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - the backend is chosen before

    seconds = np.arange(0, SECONDS + 1, 2)
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for name, colour in TUNERS.items():
        held = [
            shares_held(Entered(name=name, job=Job(table=table, scenario=DEFAULT, seed=seed)))
            for table in HELD_OUT
            for seed in range(SEARCHES)
        ]
        regrets = 100 * (1 - np.array([_at(each, seconds) for each in held]))
        low, middle, high = np.quantile(regrets, (0.25, 0.5, 0.75), axis=0)
        axes.step(seconds, middle, where="post", color=colour, label=name)
        axes.fill_between(seconds, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="seconds of the search", ylabel="% slower than the best", ylim=(0, 100))
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
    axes.legend(loc="upper right")
    _save(figure, "regret.svg")


def _at(held: Sequence[tuple[float, float]], seconds: Any) -> Any:
    """Return the share that was held at each of some times."""
    times, shares = np.array(held).T
    return shares[np.searchsorted(times, seconds, side="right") - 1]


def _save(figure: Any, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / name, metadata={"Date": None})


FIGURES = {"posterior": draw_posterior, "regret": draw_regret}


def main(names: Sequence[str]) -> None:
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    for name in names or FIGURES:
        FIGURES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
