"""Draws the figures of the pages, on recorded sweeps: `python -m tools.docs.figures [NAME]`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from autotune.search import search as module
from benchmarks.plots import STYLE
from benchmarks.replay.replay import replay
from benchmarks.replay.table import FOLDER as TABLES, read
from benchmarks.replay.world import world_of

FOLDER = Path("docs/figures")
TABLE, TRAINING, SEED = "segments", 12 * 3600.0, 1
"""A recorded workload whose best distributed configuration gains 13 %."""
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)


class Watched(module.Search):
    """A search that keeps what it believed before each run."""

    seen: list[tuple[float, list[float], float]]
    """Seconds, quantiles of the gain as a ratio, and the probability that distributing gains."""

    def next(self) -> module.Step | None:
        now = self.prospects()
        chosen = super().next()
        if (now.runs[now.several] > 0).any():
            leader = int(np.where(now.several & now.available, now.times, np.inf).argmin())
            draws = now.outlook.draw(module.DRAWS, 0, np.flatnonzero(now.runs).tolist())
            gain = draws[:, leader] - draws[:, now.single]
            ratios = np.exp(np.quantile(gain, QUANTILES)).tolist()
            above = float(np.mean(gain > now.margin))
            self.seen.append((self.runner.budget.elapsed, ratios, above))
        return chosen


def draw_posterior() -> None:
    """Draw how the posterior of the gain narrows over a search."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - the backend is chosen before

    world = world_of(read(TABLES / f"{TABLE}.json.xz"))
    Watched.seen = []
    replay(world, SEED, TRAINING, search=Watched)
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
    below.axhline(0.95, color="gray", linewidth=0.8)
    below.set(ylabel="probability\nof a gain", xlabel="seconds of the search", ylim=(0, 1.05))
    _save(figure, "posterior.svg")


def _save(figure: Any, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / name, metadata={"Date": None})


FIGURES = {"posterior": draw_posterior}


def main(names: Sequence[str]) -> None:
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    for name in names or FIGURES:
        FIGURES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
