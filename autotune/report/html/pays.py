"""Where distribution would begin to pay, as far as the measured steps tell."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.diagnose.break_even import BEYOND, BreakEven
from autotune.diagnose.diagnosis import Diagnosis
from autotune.diagnose.sentences import MEGABIT, where_it_pays
from autotune.measure import Interval
from autotune.report.html.scale import Reach, Tick, scale_for
from autotune.strategies import title

NETWORKS = (1000.0, 10_000.0)
"""Mbit/s of usual networks, as a help to the eye."""


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A figure from which distribution pays."""

    what: str
    value: str
    interval: str
    reach: Reach
    ticks: tuple[Tick, ...]
    here: str
    """The place of what was measured; empty where nothing was."""


@dataclass(frozen=True, kw_only=True)
class Pays:
    """What is known of the break-even."""

    sentences: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    measured: int
    """Examples of a replica in the steps that were measured."""


def pays(diagnosis: Diagnosis | None) -> Pays | None:
    """Return what a diagnosis knows of the break-even, or None if that is nothing."""
    if diagnosis is None or diagnosis.break_even is None:
        return None
    found = diagnosis.break_even
    thresholds = []
    if found.batch:
        thresholds.append(_batch(found, found.batch))
    if found.bandwidth:
        thresholds.append(_network(found.bandwidth))
    return Pays(
        sentences=tuple(where_it_pays(found, title(found.configuration))),
        thresholds=tuple(thresholds),
        measured=found.configuration.per_replica_batch,
    )


def _batch(found: BreakEven, batch: Interval) -> Threshold:
    measured = found.configuration.per_replica_batch
    scale = scale_for([batch], measured, found.farthest)
    return Threshold(
        what="per-replica batch size",
        value=f"{batch.value:,.0f}",
        interval=f"{batch.low:,.0f} to {_or_more(batch.high, f'{batch.high:,.0f}')}",
        reach=scale.reach(batch),
        ticks=scale.ticks(),
        here=scale.at(measured),
    )


def _network(bandwidth: Interval) -> Threshold:
    values = (bandwidth.low, bandwidth.value, bandwidth.high)
    low, value, high = (each / MEGABIT for each in values)
    scale = scale_for([Interval(low=low, value=value, high=high)], *NETWORKS)
    return Threshold(
        what="Mbit/s between machines like this one",
        value=f"{value:,.3g}",
        interval=f"{low:,.3g} to {_or_more(bandwidth.high, f'{high:,.3g}')}",
        reach=scale.reach(Interval(low=low, value=value, high=high)),
        ticks=scale.ticks(),
        here="",
    )


def _or_more(value: float, text: str) -> str:
    return text if value < BEYOND else "far more"
