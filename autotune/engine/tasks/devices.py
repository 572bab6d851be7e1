"""What a host offers, as TensorFlow sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autotune.engine.base import HostTask, Limits, RunResult
from autotune.engine.tasks.inspect import why_ended, with_detail
from autotune.errors import EngineError
from autotune.machine import Machine, this_host
from autotune.reason import Outcome

_SECONDS = 120.0


class DevicesRequest(HostTask[Machine]):
    """Devices and versions to be listed."""

    code = "autotune.engine.child.process:list_devices"

    @property
    def limits(self) -> Limits:
        return Limits(start=_SECONDS)

    def payload(self) -> Mapping[str, Any]:
        return {}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Machine:
        """Return this host.

        Raises:
            EngineError: TensorFlow cannot list its devices.
        """
        if answers:
            found = answers[0]
            return this_host(**{**found, "gpus": tuple(found["gpus"])})
        hung = result.outcome is Outcome.HUNG
        why = f"took longer than {_SECONDS:g} s" if hung else why_ended(result)
        error = EngineError(
            f"TensorFlow cannot list its devices: the process that tried {why}.",
            "Check that `tf.config.list_physical_devices()` works in this environment.",
        )
        raise with_detail(error, result.detail)
