"""What another global batch gains, between configurations that are equal in all other settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result.leaderboard import Entry
from autotune.stats import Interval, unpaired_ratio
from autotune.stats.efficiency import examples_needed
from autotune.stats.gradients import Learning
from autotune.strategies import update_batch


class Arms(NamedTuple):
    """Two configurations that differ in their batch alone, as the table shows them."""

    other: Entry
    own: Entry
    """With the user's own global batch."""

    @property
    def faster(self) -> Interval:
        """Examples per second, as a multiple of those at the own batch."""
        return unpaired_ratio(self.other.examples_per_second, self.own.examples_per_second)


def own_arm(configuration: Configuration, own: int) -> Configuration:
    """Return the same settings with another batch behind each update."""
    replicas = update_batch(configuration) // configuration.per_replica_batch
    return configuration.taking({"per_replica_batch": max(own // replicas, 1)})


def rows(entries: Iterable[Entry]) -> Mapping[Configuration, Entry]:
    """Return the measured row of each configuration: that of the finals, which come first."""
    found: dict[Configuration, Entry] = {}
    for each in entries:
        if each.outcome is Outcome.MEASURED:
            found.setdefault(each.configuration, each)
    return found


def arms_of(
    configuration: Configuration, shown: Mapping[Configuration, Entry], own: int
) -> Arms | None:
    """Return the comparison of a configuration's batch with the own; None if one was not measured.

    Args:
        configuration: With another global batch.
        shown: The measured row of each configuration.
        own: The user's own global batch.
    """
    other, same = shown.get(configuration), shown.get(own_arm(configuration, own))
    if other is None or same is None or other == same:
        return None
    return Arms(other, same) if update_batch(same.configuration) == own else None


def compared_batches(shown: Mapping[Configuration, Entry], own: int) -> Mapping[int, Arms]:
    """Return the comparison of each other batch: of its fastest configuration, one device first.

    Args:
        shown: The measured row of each configuration.
        own: The user's own global batch.
    """
    others = [c for c in shown if update_batch(c) != own]
    others.sort(key=lambda c: (c.distributed, -shown[c].examples_per_second.value))
    found: dict[int, Arms] = {}
    for each in others:
        arms = arms_of(each, shown, own)
        if arms:
            found.setdefault(update_batch(each), arms)
    return found


class Gain(NamedTuple):
    """The progress per second of a batch, as a multiple of that at the own."""

    progress: Interval
    """Errors of the speed and of the examples needed included."""
    confirmed: bool
    """Whether the finals measured it again: what led while exploring may have led by chance."""

    @property
    def pays(self) -> bool:
        """Whether it is significantly more, at 95 % confidence."""
        return self.confirmed and self.progress.low > 1


def gain(arms: Arms, learning: Learning) -> Gain | None:
    """Return what a batch gains; None where it is not known what an example teaches there."""
    needed = examples_needed(learning, update_batch(arms.other.configuration))
    if needed is None:
        return None
    progress = unpaired_ratio(arms.faster, Interval(**needed._asdict()))
    # The finals compare several devices with one, and no others of their kind.
    own = arms.own.final or arms.own.configuration.distributed
    return Gain(progress, confirmed=arms.other.final and own)
