"""Predicted and achieved throughput of ten workloads, kept as it is measured, and as a table."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from autotune.stats.intervals import Interval
from benchmarks.parts import Part
from benchmarks.share import Share

WORKLOADS: Mapping[str, str] = {
    "pausing": "the source pauses 0.3 s in each second",
    "refilling": "a shuffle buffer refills in each epoch",
    "kept": "a slow first epoch, then the factory's own cache",
    "costly": "a costly map that the axis `cache` does away with",
    "ramping": "the source takes seconds to reach its rate",
    "draining": "a prefetched start drains",
    "digits": "a small convolutional network",
    "lstm": "a recurrent network",
    "wide_dense": "many parameters",
    "python_input": "input in Python",
}
"""What is difficult about each."""
MEDIAN_GOAL, LAST_GOAL, HELD_GOAL = 0.03, 0.10, 0.9
"""How far the achieved throughput may be off: in the median, and at the 95th percentile; and in
which share of runs it lies within its interval."""


class Row(Part):
    """A workload of which the search and the runs are done."""

    seed: int
    budget: float
    """Seconds of the search."""
    seconds: float
    """Of each run."""
    predicted: Interval | None = None
    """Examples per second, with validation and checkpoints; None: nothing was measured."""
    between: float | None = None
    """Seconds of validation and checkpoint after an epoch, as the search has measured them."""
    achieved: tuple[float, ...] = ()
    """Examples per second of each run."""
    beside: tuple[float, ...] = ()
    """Examples per second of trials just before and behind each run, in the mean."""
    said: str = "nothing was measured"
    """The verdict and what is recommended."""

    @property
    def compared(self) -> bool:
        """Whether what was predicted has all that the run does: the end of an epoch as well."""
        return self.predicted is not None and self.between is not None

    @property
    def ratios(self) -> list[float]:
        """Achieved over predicted, of each run."""
        return [rate / self.predicted.value for rate in self.achieved] if self.predicted else []

    @property
    def ratios_beside(self) -> list[float]:
        """Achieved over what trials at that time showed, of each run that had some."""
        return [rate / other for rate, other in zip(self.achieved, self.beside, strict=False)]


def figures(rows: Sequence[Row], machine: str) -> Iterator[str]:
    yield f"{machine}."
    yield ""
    if not rows:
        yield "No workload was run yet."
        return
    yield f"{len(rows)} of {len(WORKLOADS)} workloads. {_asked(rows)}"
    yield ""
    yield (
        "| workload | predicted, examples/s | between epochs, s | achieved | achieved / predicted "
        "| achieved / trials beside it | recommended |"
    )
    yield "| --- | --- | ---: | --- | --- | --- | --- |"
    yield from map(_line, rows)
    yield ""
    yield from _goals(rows)


def _asked(rows: Sequence[Row]) -> str:
    budgets = sorted({f"{row.budget:g} s" for row in rows})
    runs = sorted({f"runs of {row.seconds:g} s" for row in rows})
    seeds = sorted({str(row.seed) for row in rows})
    return f"Searches of {', '.join(budgets)}; {', '.join(runs)}; seed {', '.join(seeds)}."


def _line(row: Row) -> str:
    predicted = row.predicted
    if predicted is None:
        cells = ("nothing", "-", "-", "-", "-")
    else:
        cells = (
            f"{predicted.value:,.0f} ({predicted.low:,.0f} to {predicted.high:,.0f})",
            "not measured" if row.between is None else f"{row.between:.2g}",
            ", ".join(f"{rate:,.0f}" for rate in row.achieved),
            ", ".join(f"{ratio:.3f}" for ratio in row.ratios),
            ", ".join(f"{ratio:.3f}" for ratio in row.ratios_beside) or "-",
        )
    what = f"{row.workload}: {WORKLOADS[row.workload]}"
    return f"| {what} | {' | '.join(cells)} | {row.said} |"


def _goals(every: Sequence[Row]) -> Iterator[str]:
    rows = [row for row in every if row.compared]
    off = [abs(ratio - 1) for row in rows for ratio in row.ratios]
    if not off:
        return
    yield f"| how far it is from the predicted one, over {len(off)} runs | goal | reached | |"
    yield "| --- | --- | --- | --- |"
    for what, share, goal in (("median", 0.5, MEDIAN_GOAL), ("95th percentile", 0.95, LAST_GOAL)):
        # Of few runs the 95th percentile is the largest, not something between two of them.
        reached = float(np.quantile(off, share, method="higher" if share > 0.5 else "linear"))
        mark = "reached" if reached <= goal else "short"
        yield f"| {what} | <= {goal:.0%} | {reached:.1%} | {mark} |"
    now = [abs(ratio - 1) for row in rows for ratio in row.ratios_beside]
    if now:
        usual = float(np.median(now))
        yield f"| from trials beside it: median | | {usual:.1%}, at most {max(now):.1%} | |"
    held = [
        p.low <= rate <= p.high for row in rows if (p := row.predicted) for rate in row.achieved
    ]
    within = Share(count=sum(held), of=len(held))
    mark = "reached" if within.value >= HELD_GOAL else "short"
    yield f"| the predicted interval holds a run | >= {HELD_GOAL:.0%} | {within} | {mark} |"
