"""Answers made by hand, as if a search had produced them from some trials."""

from collections.abc import Iterable
from statistics import median
from typing import Any

from autotune.answer import Answer, Because, Ended, Entry, Verdict
from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.stats.intervals import Interval
from autotune.trial import Trial, counting


def around(value: float, factor: float = 1.1) -> Interval:
    return Interval(low=value / factor, value=value, high=value * factor)


def answer_of(
    trials: Iterable[Trial], recommended: Configuration, own: Configuration, **changes: Any
) -> Answer:
    """Return what some trials say, each configuration by its own runs."""
    trials = list(trials)
    shown = counting(t for t in trials if t.shown and t.examples_per_second)
    runs = {
        t.configuration: [u for u in shown if u.configuration == t.configuration] for t in shown
    }
    rates = {c: median(t.examples_per_second for t in mine) for c, mine in runs.items()}
    rejected = {t.configuration for t in trials if t.outcome is Outcome.REJECTED}
    base = rates.get(own)
    entries = [
        Entry(
            configuration=c,
            examples_per_second=around(rates[c]),
            ratio=Interval(low=1, value=1, high=1)
            if c == own
            else around(rates[c] / (base or 1.0)),
            outcome=Outcome.REJECTED if c in rejected else mine[-1].outcome,
            runs=len(mine),
        )
        for c, mine in runs.items()
    ]
    entries.sort(key=lambda each: -each.ratio.value)
    leaders = [[c for c in rates if c.distributed is d] for d in (False, True)]
    alone, several = (max(mine, key=lambda c: rates[c], default=None) for mine in leaders)
    ratios = {each.configuration: each.ratio for each in entries}
    given = {
        "verdict": Verdict.DISTRIBUTE if recommended.distributed else Verdict.ONE_DEVICE,
        "because": Because.FASTER if recommended.distributed else Because.NOT_FASTER,
        "ended": Ended.PAID,
        "probability": 0.97,
        "recommended": recommended,
        "own": own,
        "one_device": alone or own,
        "several": several,
        "gain": None if recommended == own else ratios.get(recommended),
        "distributed_gain": around(rates[several] / rates[alone]) if alone and several else None,
        "noise": 0.05,
        "own_seconds": around(3600.0),
        "recommended_seconds": around(2400.0) if recommended != own else around(3600.0),
        "searched": 75.0,
        "base": base,
        "entries": tuple(entries),
    }
    return Answer(**{**given, **changes})
