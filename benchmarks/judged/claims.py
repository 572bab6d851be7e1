"""What must be true of the answers to the three programs, and whether it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autotune import Breakdown, Result, Verdict
from autotune.checks.breakdown import Part
from autotune.stats.intervals import Interval
from benchmarks.share import scaled

BATCH = 32
"""Examples of a replica in a step."""
PACE = 0.01
"""Seconds from one example to the next."""
SLEEP = 0.002
"""Seconds for each example."""
NUMBERS = 4_000_000
MINE = 10.0
"""Milliseconds in which a network so small has computed its step on any machine."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A figure that was told, and between what the truth lies."""

    what: str
    said: Interval | None
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the figure was told, and may be true."""
        return self.said is not None and self.said.low <= self.high and self.low <= self.said.high

    def __str__(self) -> str:
        said = str(self.said) if self.said else "not told"
        truth = f"{self.low:.3g} to {self.high:.3g}"
        return f"| {self.what} | {said} | {truth} | {_word(self.holds)} |"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program, and what is true of it."""

    question: str
    dataset: str
    verdict: Verdict
    why: str
    """Why that is the right verdict."""
    limit: Part
    """What must be named as the limit of the step that it makes slow."""
    found: Callable[[Result], Breakdown | None]
    """That step."""
    claims: Callable[[Result], Iterator[Claim]]
    model: dict[str, Any] = field(default_factory=dict)
    """Arguments of the model factory."""

    def is_right(self, result: Result) -> bool:
        """Return whether verdict and figures are as they must be."""
        named = self._names_its_limit(result)
        claims = self.claims(result)
        return result.verdict is self.verdict and named and all(each.holds for each in claims)

    def _names_its_limit(self, result: Result) -> bool:
        found = self.found(result)
        return found is not None and found.is_limit(self.limit)

    def told(self, result: Result) -> Iterator[str]:
        yield f"### {self.question}"
        yield ""
        right = _word(result.verdict is self.verdict)
        yield f"Verdict: **{result.verdict}**, {right}: {self.why}. {result.seconds:.0f} s."
        yield ""
        yield f"Limit: {self.limit}, {_word(self._names_its_limit(result))}."
        yield ""
        yield "| figure | told (95 %) | truth | |"
        yield "| --- | --- | --- | --- |"
        yield from map(str, self.claims(result))
        yield ""
        yield from (f"- {reason}" for reason in result.reasons)
        yield ""


def milliseconds(found: Breakdown | None, part: Part) -> Interval | None:
    """Return what was told of a part of a step; None if it was not."""
    shares = [each.share for each in found.shares if each.part is part] if found else []
    return scaled(shares[0], found.milliseconds) if found and shares else None


def _claim(what: str, found: Breakdown | None, part: Part, truth: tuple[float, float]) -> Claim:
    low, high = truth
    return Claim(what=f"{what}, ms", said=milliseconds(found, part), low=low, high=high)


def _alone(result: Result) -> Breakdown | None:
    return result.diagnosis.one_device if result.diagnosis else None


def _pair(result: Result) -> Breakdown | None:
    return result.diagnosis.distributed if result.diagnosis else None


def _paced(result: Result) -> Iterator[Claim]:
    found = _alone(result)
    whole = 1000 * PACE * found.configuration.global_batch if found else 0.0
    yield _claim("waiting for input, one device", found, Part.INPUT, (whole - MINE, whole))
    yield _claim("computing, one device", found, Part.COMPUTE, (0.0, MINE))


def _sleeping(result: Result) -> Iterator[Claim]:
    alone, pair = _alone(result), _pair(result)
    asleep = 1000 * SLEEP * BATCH
    # One device may have the batch of both workers.
    times = alone.configuration.per_replica_batch / BATCH if alone else 1.0
    whole = (times * asleep, times * asleep + MINE)
    yield _claim("computing, one device", alone, Part.COMPUTE, whole)
    yield _claim("computing, two workers", pair, Part.COMPUTE, (asleep, asleep + MINE))
    yield _claim("resource contention, two workers", pair, Part.SHARING, (0.0, MINE))
    yield Claim(
        what="gain of two workers",
        said=result.answer.distributed_gain,
        low=2 * asleep / (asleep + 2 * MINE),
        high=2.0,
    )


def _padded(result: Result) -> Iterator[Claim]:
    pair = _pair(result)
    whole = pair.milliseconds if pair else 0.0
    yield _claim("exchanging gradients, two workers", pair, Part.EXCHANGE, (whole / 2, whole))
    yield _claim("computing, two workers", pair, Part.COMPUTE, (0.0, whole / 4))


def _word(right: bool) -> str:  # noqa: FBT001 - a single argument
    return "right" if right else "**WRONG**"


PROGRAMS = {
    "paced": Program(
        question=f"An input that gives an example every {1000 * PACE:.0f} ms",
        dataset="paced_fn",
        verdict=Verdict.ONE_DEVICE,
        why="each worker runs the whole input and discards half of it",
        limit=Part.INPUT,
        found=_alone,
        claims=_paced,
    ),
    "sleeping": Program(
        question=f"A step that sleeps for {1000 * SLEEP:.0f} ms for each example",
        dataset="dataset_fn",
        model={"sleep": SLEEP},
        verdict=Verdict.DISTRIBUTE,
        why="two workers sleep beside each other, and so do twice as much",
        limit=Part.COMPUTE,
        found=_pair,
        claims=_sleeping,
    ),
    "padded": Program(
        question=f"A gradient of {NUMBERS / 1e6:.0f} million numbers and next to no arithmetic",
        dataset="dataset_fn",
        model={"numbers": NUMBERS},
        verdict=Verdict.ONE_DEVICE,
        why="the exchange takes longer than all that it saves",
        limit=Part.EXCHANGE,
        found=_pair,
        claims=_padded,
    ),
}
