"""From the logs of one workload and seed to a row for each contestant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from autotune.config import Configuration
from autotune.stats.intervals import Interval
from autotune.value import Value
from benchmarks.peers import truth
from benchmarks.peers.job import read_log
from benchmarks.peers.progress import close_since, incumbents, trials
from benchmarks.share import ITSELF, ratio_in_turns


class Row(Value):
    """How a contestant did on one workload with one seed."""

    commit: str
    workload: str
    seed: int
    contestant: str
    trials: int
    recommended: Configuration | None
    seconds_to_close: float | None
    """From when on its incumbent was within `CLOSE` of the best for good; None: never."""
    share: Interval | None
    """Throughput of what it recommends, as a share of the best of all."""
    over_one_device: Interval | None
    """The same as a multiple of the best single device."""
    gain: Interval | None
    """The best distributed configuration as a multiple of the best single device."""

    @property
    def wrong(self) -> bool:
        """Whether more than one replica is recommended though that is significantly slower."""
        over = self.over_one_device
        return self._distributed and over is not None and over.high < 1

    @property
    def missed(self) -> bool:
        """Whether one device is recommended though a significant gain was to be had."""
        gain = self.gain
        one_device = self.recommended is not None and not self._distributed
        return one_device and gain is not None and gain.low > 1

    @property
    def _distributed(self) -> bool:
        return self.recommended is not None and self.recommended.distributed


class Truth:
    """Compares configurations by the runs that took turns."""

    def __init__(self, rates: truth.Rates) -> None:
        turns = max((len(each) for each in rates.values()), default=0)
        # What failed in half of its runs is no recommendation to measure others by.
        self._rates = {c: each for c, each in rates.items() if 2 * len(each) > turns}

    def best(self, *, distributed: bool | None = None) -> Configuration | None:
        """Return the fastest, of all or of one kind."""
        mine = [c for c in self._rates if distributed in (None, c.distributed)]
        return max(mine, key=self._level, default=None)

    def ratio(self, mine: Configuration | None, other: Configuration | None) -> Interval | None:
        """Return how many times faster one is than another; None where it is not known."""
        if mine is None or other is None or not {mine, other} <= self._rates.keys():
            return None
        if mine == other:
            return ITSELF
        return ratio_in_turns(self._rates[mine], self._rates[other])

    def _level(self, configuration: Configuration) -> float:
        return fmean(math.log(rate) for rate in self._rates[configuration].values())


def rows(folder: Path, names: Sequence[str], identity: tuple[str, str, int]) -> list[Row]:
    """Return a row for each contestant, with commit, workload and seed."""
    known = Truth(truth.read(folder))
    return [_row(folder / name, known, identity) for name in names]


def best_of(folder: Path) -> list[Configuration]:
    """Return the fastest configuration of each kind that a workload and seed had."""
    known = Truth(truth.read(folder))
    return [c for kind in (False, True) if (c := known.best(distributed=kind)) is not None]


def _row(folder: Path, known: Truth, identity: tuple[str, str, int]) -> Row:
    commit, workload, seed = identity
    log = read_log(folder)
    found = incumbents(log)
    recommended = found[-1][1] if found else None
    best, one_device = known.best(), known.best(distributed=False)
    return Row(
        commit=commit,
        workload=workload,
        seed=seed,
        contestant=folder.name,
        trials=trials(log),
        recommended=recommended,
        seconds_to_close=close_since((at, _value(known.ratio(c, best))) for at, c in found),
        share=known.ratio(recommended, best),
        over_one_device=known.ratio(recommended, one_device),
        gain=known.ratio(known.best(distributed=True), one_device),
    )


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value
