"""What became of each workload, kept as it is measured, and as tables."""

from collections.abc import Iterator, Sequence
from statistics import median

from autotune.base import Value
from autotune.stats.intervals import Interval, times
from benchmarks.parts import Part

MEDIAN_GOAL, LOWEST_GOAL = 0.95, 0.80
"""Shares of the best that are wanted, in the median and at least."""


class Searched(Value):
    """A search of the default space."""

    busy: int
    """Cores that another program kept busy."""
    trained_busy: int = 0
    """Cores that another program kept busy when it was measured again."""
    said: str
    """The verdict and what is recommended."""
    distributes: bool = False
    """Whether the verdict is to distribute."""
    trials: int
    """Runs that it made, repeats included."""
    share: Interval | None
    """Throughput of what is recommended, as a multiple of the best known; None: it does not run."""
    over_one_device: Interval | None = None
    """The same, as a multiple of the best known of one device; None: one of them does not run."""
    said_over_yours: Interval | None = None
    """What the search says that is gained over the user's own settings."""
    over_yours: Interval | None = None
    """The same, measured again; None: one of them does not run."""

    @property
    def wrong(self) -> bool:
        """Whether it distributes what is significantly slower than the best known of one device.

        What does not run, or cannot be compared, counts as slower.
        """
        over = self.over_one_device
        return self.distributes and (over is None or over.high < 1)

    @property
    def granted(self) -> bool:
        """Whether it distributes what is significantly faster than the best known of one device."""
        over = self.over_one_device
        return self.distributes and over is not None and over.low > 1


class Row(Part):
    """A workload of which everything is done."""

    looked_at: bool = False
    """A change of the search was made for it, so that it counts towards no goal."""
    configurations: int
    """In the space, those that can run."""
    best: str
    """The best known configuration of the quiet machine."""
    gain: Interval | None
    """The best of several replicas as a multiple of the best of one device; None: none ran."""
    best_busy: str = ""
    """The best known configuration with one core busy."""
    gain_busy: Interval | None = None
    compared: int
    """Configurations that were measured again."""
    rounds: int
    searches: tuple[Searched, ...]

    @property
    def name(self) -> str:
        """The workload, with whether it counts."""
        return f"{self.workload} (looked at)" if self.looked_at else self.workload


def figures(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the figures of the page, of at least one row."""
    yield (
        "| workload | configurations | measured again | best known "
        "| several replicas over one device |"
    )
    yield "| --- | ---: | --- | --- | --- |"
    for row in rows:
        measured = f"{row.compared}, {row.rounds} times"
        for busy, best, gain in ((0, row.best, row.gain), (1, row.best_busy, row.gain_busy)):
            faster = times(gain) if gain else "none ran"
            cells = (
                row.name,
                f"{row.configurations:,}",
                f"{_busy(busy)}: {measured}",
                best,
                faster,
            )
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield (
        "| workload | searched | measured again | share of the best | over the best of one device "
        "| over own settings, said | measured | trials | said |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | ---: | --- |"
    for row in rows:
        for each in row.searches:
            when = f"{_busy(each.busy)} | {_busy(each.trained_busy)}"
            share = str(each.share) if each.share else "does not run"
            compared = (each.over_one_device, each.said_over_yours, each.over_yours)
            over = " | ".join(times(gain) if gain else "not compared" for gain in compared)
            yield f"| {row.name} | {when} | {share} | {over} | {each.trials} | {each.said} |"
    yield ""
    if counted := [each for row in rows for each in row.searches if not row.looked_at]:
        yield from _goals(counted)


def _busy(cores: int) -> str:
    return f"{cores} core busy" if cores else "quiet"


def _goals(searches: Sequence[Searched]) -> Iterator[str]:
    yield "| searched | measured again | what | goal | reached | n | |"
    yield "| --- | --- | --- | --- | --- | ---: | --- |"
    for when in sorted({(each.busy, each.trained_busy) for each in searches}):
        these = [each for each in searches if (each.busy, each.trained_busy) == when]
        for cells in (*_shares(these), *_distributing(these)):
            yield f"| {' | '.join(map(_busy, when))} | {cells} |"


def _shares(searches: Sequence[Searched]) -> Iterator[str]:
    shares = [each.share.value if each.share else 0.0 for each in searches]
    for what, goal, reached in (
        ("median", MEDIAN_GOAL, median(shares)),
        ("lowest", LOWEST_GOAL, min(shares)),
    ):
        mark = "reached" if reached >= goal else "short"
        yield f"{what} share | >= {goal:.0%} | {reached:.1%} | {len(shares)} | {mark}"


def _distributing(searches: Sequence[Searched]) -> Iterator[str]:
    """Yield how the verdicts to distribute were judged that some searches came to."""
    if said := [each for each in searches if each.distributes]:
        wrong = sum(each.wrong for each in said)
        mark = "short" if wrong else "reached"
        yield f"*distribute*, significantly slower | 0 | {wrong} | {len(said)} | {mark}"
        granted = sum(each.granted for each in said)
        yield f"*distribute*, significantly faster | | {granted} | {len(said)} |"
