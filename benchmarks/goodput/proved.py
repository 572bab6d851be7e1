"""Lets a whole search train batches to a held-out loss, and keeps which one it recommends.

The search is one that a user could start: `autotune tune workloads.py:model_fn
workloads.py:dataset_fn --space space.yaml --budget 5min --prove`, on one device, with the batches
of the benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune import SearchOptions, autotune
from autotune.learning import Race, Raced
from autotune.wording import plural

BUDGET = 300.0
"""Seconds of a search, of which 35 % are for the trainings."""
WORKLOADS = Path(__file__).with_name("workloads.py")


@dataclass(frozen=True, kw_only=True)
class Proved:
    """What a search with `--prove` has found."""

    training: str
    batch: int
    """That it recommends."""
    race: Race | None
    """None if there was nothing known of other batches at all."""

    def __str__(self) -> str:
        """Return a row of the page's table."""
        race = self.race
        if race is None or race.refused:
            why = race.refused.value if race and race.refused else "nothing known"
            return f"| {self.training} | {self.batch} | none: {why} | - |"
        found = "; ".join(map(_in_words, race.raced))
        return f"| {self.training} | {self.batch} | {found} | {race.loss:.3f} |"


def prove(training: str, batches: Sequence[int]) -> Proved:
    """Search among these batches on one device.

    Args:
        training: Its name.
        batches: Global batches.
    """
    arguments = {"training": training}
    result = autotune(
        f"{WORKLOADS}:model_fn",
        f"{WORKLOADS}:dataset_fn",
        space={"strategies": ["one_device"], "axes": {"per_replica_batch": list(batches)}},
        model_args=arguments,
        dataset_args=arguments,
        options=SearchOptions(budget=BUDGET, prove=True),
    )
    known = result.facts.learning
    return Proved(
        training=training, batch=result.config.global_batch, race=known.race if known else None
    )


def _in_words(raced: Raced) -> str:
    """Return the examples that a batch needed; there is no most where it came to no loss."""
    low, value, _ = raced.needed
    high = "any" if raced.unreached else f"{raced.needed.high:.2f}"
    seeds = plural(len(raced.ratios), "seed")
    return f"{raced.batch}: {value:.2f} ({low:.2f} to {high}), {seeds}"
