"""Has Keras make the first step of a script's `fit`, to see whether that trains by itself.

Nothing takes the place of what the script gives to it, neither of its data nor of its strategy. It
has a process of its own, because it leaves a model that is trained, and data that was read.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import tensorflow as tf

from autotune.engine import events
from autotune.engine.child.member import Member, execute
from autotune.engine.child.notes import before, patched, workers_of_cluster
from autotune.engine.child.scratch import MayNotChange
from autotune.engine.child.script import come_to_fit, fit_failed, run_in_copy
from autotune.engine.events import Step
from autotune.errors import ScriptFailed

_DEVICE = re.compile(r"(\w+):(\d+)$")
_STRATEGIES = ("MirroredStrategy", "MultiWorkerMirroredStrategy", "OneDeviceStrategy")


class DevicesElsewhere(BaseException):
    """The script makes a strategy for devices, or a cluster, that this process does not have."""


def make_first_step(member: Member) -> None:
    """Make it, and report when it began and how long it took.

    Raises:
        WorkloadError: The script does not come to its `fit`, or that fails.
    """
    member.announce(Step.RUNNING)
    program = execute(member.folder.script, member.request["script"])
    program.script.replicas = None  # So that its own strategies stay.
    with suppress(DevicesElsewhere), run_in_copy(program) as run, patched(*_CHECKED):

        def step(call: Any, _: object) -> None:
            clock = _Clock(member)
            try:
                run.first_call(call, clock.stop)
            except MayNotChange:
                raise
            except (Exception, SystemExit) as exc:
                raise fit_failed(program) from exc
            if not clock.stopped:
                raise ScriptFailed(
                    "The fit of the script ends without a step.",
                    "Check its data, its epochs and its initial_epoch.",
                )

        come_to_fit(program, run, step)


class _Clock:
    """Reports how long the first call of a step takes, from the `fit` on."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._began = time.monotonic()
        self.stopped = False
        member.announce(Step.STEPPING)
        member.writer.write(events.TRAIN_BEGIN)

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self._member.writer.write(events.FIRST_STEP, seconds=time.monotonic() - self._began)


def _check_devices(*arguments: Any, **options: Any) -> None:
    """Leave a script whose strategy cannot be made here, where it would fail or wait for ever."""
    named = map(_DEVICE.search, filter(_is_text, tf.nest.flatten([arguments[1:], options])))
    found = [(match[1].upper(), int(match[2])) for match in named if match]
    here = Counter(each.device_type for each in tf.config.list_logical_devices()) if found else {}
    multi_worker = isinstance(arguments[0], tf.distribute.MultiWorkerMirroredStrategy)
    if any(index >= here.get(kind, 0) for kind, index in found) or (
        multi_worker and workers_of_cluster() > 1
    ):
        raise DevicesElsewhere


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_CHECKED: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (getattr(tf.distribute, each), "__init__", before(_check_devices)) for each in _STRATEGIES
]
