"""A breakdown in words: where the time goes, what limits the step, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.diagnose.break_even import BEYOND, BreakEven
from autotune.diagnose.breakdown import Breakdown, Part
from autotune.measure import Interval

WORTH_TELLING = 0.02
"""A smaller share is left out of the sentence."""
LIMITS = 0.3
"""From this share on a part is named as what limits the step."""
SEQUENTIAL = 0.6
"""From this share on a step hardly falls with a smaller batch."""
MEGABIT = 125_000
"""Bytes a second."""


def where_it_goes(found: Breakdown, name: str) -> str | None:
    """Return the parts of a step as a sentence, or None if nobody knows them.

    Args:
        found: The step.
        name: Whose it is, as `one device`.
    """
    told = [each for each in found.shares if each.share.value >= WORTH_TELLING]
    if not told:
        return None
    parts = ", ".join(f"{each.part} {_percent(each.share)}" for each in told)
    return f"A step of {name} takes {found.milliseconds:.3g} ms: {parts}."


def limits(found: Breakdown, *, takes_calls: bool) -> Iterator[str]:
    """Yield a sentence for each thing that limits a step, with what helps against it.

    Args:
        found: The step.
        takes_calls: Whether the dataset factory declares `num_parallel_calls`.
    """
    if found.share(Part.INPUT) >= LIMITS:
        yield f"Its input is the limit: {_against_input(takes_calls=takes_calls)}"
    if found.share(Part.CALL) >= LIMITS:
        yield (
            "Calling the step takes as much as a good part of its work: more steps for each call "
            "(steps_per_execution), a larger batch or a larger model would use the device better."
        )
    if found.share(Part.EXCHANGE) >= LIMITS:
        yield (
            "Exchanging the gradients costs more than more replicas save: a larger batch for each "
            "replica would need it more rarely."
        )
    if found.share(Part.SHARING) >= LIMITS:
        yield (
            "The replicas slow each other down: they share the cores and the memory of one "
            "machine, which one device alone uses well already."
        )
    if found.straggler is not None:
        yield (
            f"The others wait for worker {found.straggler.worker}, which works "
            f"{found.straggler.factor:.1f} times as long on a step: look at what it reads, and at "
            "what else runs beside it."
        )
    if found.fixed is not None and found.fixed.low >= SEQUENTIAL:
        yield (
            f"Half the batch would take {_percent(_half(found.fixed))} of the time: the model is "
            "a chain of small operations, so more replicas gain little until the batch grows."
        )


def where_it_pays(found: BreakEven, name: str) -> Iterator[str]:
    """Yield where distribution would begin to pay.

    Args:
        found: The break-even.
        name: What is distributed, as `MirroredStrategy with 2 replicas`.
    """
    if found.batch is None:
        yield (
            f"No break-even for {name} within what was measured: up to {found.farthest} examples "
            "for each replica one device takes the same examples in less time."
        )
    else:
        yield (
            f"Break-even for {name}: it pays from about {found.batch.value:.0f} examples for each "
            f"replica ({found.batch.low:.0f} to {_up_to(found.batch)})."
        )
    if found.bandwidth is not None:
        low, value = found.bandwidth.low / MEGABIT, found.bandwidth.value / MEGABIT
        yield (
            f"Between machines like this one, with a worker on each, {name} would pay from a "
            f"network of about {value:.3g} Mbit/s ({low:.3g} to {_megabits(found.bandwidth)})."
        )


def _against_input(*, takes_calls: bool) -> str:
    if takes_calls:
        return "try more parallel calls, a cache, or reading at the source by each worker."
    return (
        "let the dataset factory declare `num_parallel_calls` and give it to its `map`, cache what "
        "does not change, or declare `input_context` and read only a worker's share."
    )


def _half(fixed: Interval) -> Interval:
    """Return what half a batch takes, as a share of the whole."""
    return Interval(**{name: (1 + getattr(fixed, name)) / 2 for name in ("low", "value", "high")})


def _percent(share: Interval) -> str:
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def _up_to(batch: Interval) -> str:
    return f"{batch.high:.0f}" if batch.high < BEYOND else "far more"


def _megabits(bandwidth: Interval) -> str:
    return f"{bandwidth.high / MEGABIT:.3g}" if bandwidth.high < BEYOND else "far more"
