"""One device at the global batch of a distributed configuration.

Throughput rises with the batch, distributed or not. A space bounds the batch of one replica, so
several replicas may take larger steps than one device was tried with; without its twin a challenger
would be credited with what only the batch has gained.
"""

from __future__ import annotations

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.search.request import Subject
from autotune.space import Candidates, Situation

Twins = dict[Configuration, Configuration]


def twins(found: Candidates, subject: Subject, options: SearchOptions) -> Twins:
    """Return, for each distributed configuration, its twin if one device can run it."""
    pairs = {
        each: each.on_one_device().with_global_batch(each.global_batch)
        for each in found.distributed
    }
    where = Situation(machine=subject.machine, facts=subject.facts, options=options)
    legal = {each for each in set(pairs.values()) if where.why_illegal(each) is None}
    return {each: twin for each, twin in pairs.items() if twin in legal}
