"""What became of each script, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autotune import Verdict
from autotune.stats.intervals import Interval
from autotune.value import Value
from benchmarks.share import Share


class Row(Value):
    """A script that was tried."""

    script: str
    verdict: str = ""
    """The verdict and what is recommended; nothing where there is none."""
    predicted: Interval | None = None
    """Examples per second; None: the search came to none."""
    achieved: float | None = None
    """Examples per second of the program that was handed over; None: it came to no rate."""
    finished: bool = False
    """Whether the program came through a short epoch, with what the script does at its end."""
    reason: str = ""
    """Why the script has no verdict, or what its program did not do."""

    @property
    def decided(self) -> bool:
        """Whether there is a verdict, and it is not that this is undecided."""
        return bool(self.verdict) and not self.verdict.startswith(Verdict.UNDECIDED)

    @property
    def trains(self) -> bool:
        """Whether the program has trained, for some time or through an epoch."""
        return self.finished or self.achieved is not None

    @property
    def ratio(self) -> float | None:
        if self.predicted is None or self.achieved is None:
            return None
        return self.achieved / self.predicted.value


def figures(rows: Sequence[Row], circumstances: str) -> Iterator[str]:
    yield circumstances
    yield ""
    tuned, decided = sum(bool(row.verdict) for row in rows), sum(row.decided for row in rows)
    trained, finished = sum(row.trains for row in rows), sum(row.finished for row in rows)
    yield (
        f"Of {len(rows)} scripts {tuned} came to a verdict, {decided} to a decided one; {trained} "
        f"programs train, {finished} of them were seen to come through an epoch."
    )
    yield ""
    yield "| script | verdict | predicted, examples/s | achieved | epoch | if not, or not on, why |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield from map(_line, rows)
    yield ""
    yield from _kept(rows)


def _line(row: Row) -> str:
    # Neither the end of a cell nor the beginning of a link.
    reason = " ".join(row.reason.replace("|", "\\|").replace("[", "\\[").split())
    said = "nothing"
    if row.predicted:
        value, low, high = row.predicted.value, row.predicted.low, row.predicted.high
        said = f"{value:,.1f} ({low:,.1f} to {high:,.1f})"
    times = f" ({row.ratio:.3f} times)" if row.ratio else ""
    came = f"{row.achieved:,.1f}{times}" if row.achieved else "none"
    cells = (row.script, row.verdict or "none", said, came)
    return f"| {' | '.join(cells)} | {'yes' if row.finished else 'no'} | {reason} |"


def _kept(rows: Sequence[Row]) -> Iterator[str]:
    """Yield how far the achieved throughput is from the predicted one."""
    off = [abs(row.ratio - 1) for row in rows if row.ratio]
    if not off:
        return
    held = [
        row.predicted.low <= row.achieved <= row.predicted.high
        for row in rows
        if row.predicted and row.achieved
    ]
    share = Share(count=sum(held), of=len(held))
    yield (
        f"Off the predicted throughput: {np.median(off):.1%} in the median, {max(off):.1%} at "
        f"most, of {len(off)} programs; the predicted interval holds {share}."
    )
