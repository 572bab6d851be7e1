"""One device at the global batch of a distributed configuration.

Throughput rises with the batch, distributed or not. A space bounds the batch of one replica, so
several replicas may take larger steps than one device was tried with; without its twin a challenger
would be credited with what only the batch has gained.
"""

from __future__ import annotations

from autotune.config import Configuration
from autotune.search.subject import Subject
from autotune.space import Candidates, Constraints
from autotune.space.legality import why_illegal
from autotune.space.part import canonical

Twins = dict[Configuration, Configuration]


def twins(found: Candidates, subject: Subject, constraints: Constraints) -> Twins:
    """Return, for each distributed configuration, its twin if one device can run it."""
    pairs = {each: _twin(each) for each in found.distributed}
    machine, facts = subject.machine, subject.facts
    legal = {
        twin
        for twin in set(pairs.values())
        if why_illegal(twin, machine, facts, constraints) is None
    }
    return {each: twin for each, twin in pairs.items() if twin in legal}


def _twin(configuration: Configuration) -> Configuration:
    alone = {
        "strategy": "one_device",
        "workers": 1,
        "replicas_per_worker": 1,
        "servers": 0,
        "per_replica_batch": configuration.global_batch,
    }
    return canonical(configuration.model_copy(update=alone))
