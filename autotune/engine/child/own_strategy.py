"""Notes which strategies a script makes, and how many replicas they would have on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import tensorflow as tf

WORKING = ("chief", "worker")
"""Tasks of a cluster that train."""


@contextmanager
def own_strategies_noted(program: ModuleType) -> Iterator[list[dict[str, Any]]]:
    """Give what is known of each strategy, as they are made."""
    found: list[dict[str, Any]] = []
    begin = program.OwnStrategy.__init__

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        lines = program.lines_of(sys._getframe(1))  # noqa: SLF001 - who makes it tells the line
        kind = type(self).__name__
        title = "" if type(self) is program.OwnStrategy else kind
        workers = _workers() if title == "MultiWorkerMirroredStrategy" else 1
        replicas = workers * _each(title, [*arguments, *options.values()])
        found.append(
            {"title": title, "line": next(iter(lines), None), "replicas": replicas}
            | {"workers": workers}
        )
        begin(self, *arguments, **options)
        self.num_replicas_in_sync = replicas

    program.OwnStrategy.__init__ = noted
    try:
        yield found
    finally:
        program.OwnStrategy.__init__ = begin


def _each(title: str, arguments: Sequence[Any]) -> int:
    """Return the replicas of a worker: one for each device that is named, or for each GPU."""
    if title in ("", "OneDeviceStrategy"):
        return 1
    named = [each for each in arguments if isinstance(each, list | tuple) and each]
    return len(named[0]) if named else max(len(tf.config.list_physical_devices("GPU")), 1)


def _workers() -> int:
    """Return how many workers the environment names."""
    try:
        cluster: Mapping[str, Any] = json.loads(os.environ.get("TF_CONFIG", ""))["cluster"]
        return sum(len(cluster.get(each, ())) for each in WORKING) or 1
    except (ValueError, KeyError, TypeError):
        return 1
