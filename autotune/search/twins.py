"""One device at the global batch of a distributed configuration.

Throughput rises with the batch, distributed or not. A space bounds the batch of one replica, so
several replicas may take larger steps than one device was tried with; without its twin a challenger
would be credited with what only the batch has gained.
"""

from __future__ import annotations

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.search.subject import Subject
from autotune.space import Candidates
from autotune.space.legality import why_illegal

Twins = dict[Configuration, Configuration]


def twins(found: Candidates, subject: Subject, constraints: SearchOptions) -> Twins:
    """Return, for each distributed configuration, its twin if one device can run it."""
    pairs = {
        each: each.on_one_device().with_global_batch(each.global_batch)
        for each in found.distributed
    }
    machine, facts = subject.machine, subject.facts
    legal = {
        twin
        for twin in set(pairs.values())
        if why_illegal(twin, machine, facts, constraints) is None
    }
    return {each: twin for each, twin in pairs.items() if twin in legal}
