"""The processes of one training and how they find each other."""

from __future__ import annotations

import json
from collections.abc import Sequence

from autotune.value import Value


class Role(Value):
    """One process of a training; where it is the only one, it needs no TF_CONFIG."""

    kind: str = "worker"
    """The task type of `tf.train.ClusterSpec`: worker, chief, ps."""
    index: int = 0
    host: int = 0
    """Position of its host in `Machine.hosts`."""
    gpus: tuple[int, ...] | None = None
    """Indices of its host's GPUs that this process may see; None leaves it to TensorFlow."""

    @property
    def name(self) -> str:
        """What to call it: `worker 1`."""
        return f"{'server' if self.kind == 'ps' else self.kind} {self.index}"


def tf_config(roles: Sequence[Role], addresses: Sequence[str], mine: Role) -> str:
    """Return the TF_CONFIG of one of all processes, which have each an address `host:port`."""
    cluster: dict[str, list[str]] = {}
    for role, address in zip(roles, addresses, strict=True):
        cluster.setdefault(role.kind, []).append(address)
    return json.dumps({"cluster": cluster, "task": {"type": mine.kind, "index": mine.index}})
