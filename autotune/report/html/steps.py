"""Where the time of a step goes: a bar for one device, and one for the best distributed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from autotune.diagnose.breakdown import Breakdown, Part
from autotune.diagnose.diagnosis import Diagnosis
from autotune.report.html.scale import percent
from autotune.report.words import in_short

EXAMPLES = 1000
"""Steps of different batches are compared by the time of so many examples."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a bar."""

    part: str
    kind: str
    """The part in a word, for the style sheet."""
    start: str
    width: str
    time: str
    share: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A configuration's step."""

    title: str
    configuration: str
    whole: str
    """Milliseconds for a thousand examples."""
    step: str
    """Milliseconds of a step."""
    segments: tuple[Segment, ...]

    def segment(self, kind: str) -> Segment | None:
        """Return the segment of a kind; None if it was not told apart."""
        return next((each for each in self.segments if each.kind == kind), None)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The figure and its table."""

    sentence: str
    bars: tuple[Bar, ...]
    parts: tuple[tuple[str, str], ...]
    """Those that occur: the kind, and what it is called."""


def steps(diagnosis: Diagnosis | None) -> Steps | None:
    """Return the figure of a diagnosis, or None if no step was taken apart."""
    if diagnosis is None:
        return None
    named = {"One device": diagnosis.one_device, "Distributed": diagnosis.distributed}
    found = {title: each for title, each in named.items() if each and each.shares}
    if not found:
        return None
    longest = max(map(_time, found.values()))
    bars = tuple(_bar(title, each, longest) for title, each in found.items())
    kinds = {segment.kind for bar in bars for segment in bar.segments}
    return Steps(
        sentence=_sentence(found),
        bars=bars,
        parts=tuple((part.name.lower(), part) for part in Part if part.name.lower() in kinds),
    )


def _time(found: Breakdown) -> float:
    """Return the milliseconds for `EXAMPLES` examples."""
    return found.milliseconds / found.configuration.global_batch * EXAMPLES


def _bar(title: str, found: Breakdown, longest: float) -> Bar:
    time = _time(found)
    # In one order for all bars, whichever part is the largest.
    ordered = sorted(found.shares, key=lambda each: list(Part).index(each.part))
    ends = accumulate(each.share.value for each in ordered)
    return Bar(
        title=title,
        configuration=in_short(found.configuration),
        whole=f"{time:,.3g} ms",
        step=f"{found.milliseconds:,.3g} ms for {found.configuration.global_batch:,} examples",
        segments=tuple(
            Segment(
                part=each.part,
                kind=each.part.name.lower(),
                start=percent((end - each.share.value) * time / longest * 100),
                width=percent(each.share.value * time / longest * 100),
                time=f"{each.share.value * time:,.3g} ms",
                share=f"{each.share.low:.0%} to {each.share.high:.0%}",
            )
            for each, end in zip(ordered, ends, strict=True)
        ),
    )


def _sentence(found: dict[str, Breakdown]) -> str:
    text = (
        "Measured by experiments, not with a profiler: the same step with its batch kept in "
        "memory, with more steps per call, on a single replica, and the gradient exchange alone. "
        f"Bars show the time for {EXAMPLES:,} examples."
    )
    return text if len(found) > 1 else f"{text} There was time for only one of the two."
