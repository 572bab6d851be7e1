"""A local search that changes one axis of the best configuration at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autotune.config import Configuration
from autotune.search.history import History
from benchmarks.replay.rivals.base import shown


class FactorWise:
    """Proposes a neighbour of the best configuration so far, the nearest first."""

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration:
        """Return the untried configuration that differs least from the best."""
        rates = {c: rate for c, rate in shown(history).items() if rate}
        if not rates:
            return untried[0]
        best = max(rates, key=lambda c: rates[c]).values()
        return min(untried, key=lambda c: _differences(c.values(), best))


def _differences(a: Mapping[str, object], b: Mapping[str, object]) -> int:
    return sum(a.get(name) != b.get(name) for name in a.keys() | b.keys())
