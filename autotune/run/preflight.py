"""Looks at the machine and at the factories before any trial."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from autotune.errors import (
    DatasetTooSmall,
    EngineError,
    FactoryFailed,
    FactoryNotFound,
    WorkloadError,
)
from autotune.machine import Machine, this_host
from autotune.run import steps
from autotune.run.child.complaint import ERROR
from autotune.run.folder import TrialFolder
from autotune.run.forking import ForkClient
from autotune.run.look import Blocked, Killed, Look, NoAnswer
from autotune.run.reasons import explain
from autotune.sentences.reasons import reason_text
from autotune.value import Scalar
from autotune.workload import Factory, Workload, WorkloadFacts

E = TypeVar("E", bound=Exception)

_DEVICE_SECONDS = 120.0
_KINDS: Mapping[str, type[WorkloadError]] = {
    kind.__name__: kind for kind in (FactoryNotFound, FactoryFailed, DatasetTooSmall)
}


Server = Callable[[], ForkClient]
"""Gives a fork server that is ready."""


def machine(server: Server, folder: TrialFolder) -> Machine:
    """Return what this machine offers, as TensorFlow sees it.

    Raises:
        EngineError: TensorFlow cannot list its devices.
    """
    try:
        found = _answer(server, folder, "devices", _DEVICE_SECONDS)
    except NoAnswer as exc:
        raise _with_detail(
            EngineError(
                f"TensorFlow cannot list its devices: the process that tried {exc.why}.",
                "Check that `tf.config.list_physical_devices()` works in this environment.",
            ),
            exc.detail,
        ) from exc
    return this_host(
        gpus=tuple(found["gpus"]),
        tpus=found["tpus"],
        tensorflow=found["tensorflow"],
        keras=found["keras"],
    )


def inspect(
    server: Server,
    folder: TrialFolder,
    workload: Workload,
    offered: Mapping[str, Scalar],
    seconds: float,
) -> WorkloadFacts:
    """Call the factories and return what they give.

    Raises:
        WorkloadError: One does not fulfil its contract.
    """
    request = {
        "seconds": seconds,
        "offered": dict(offered),
        "model": _order(workload.model),
        "dataset": _order(workload.dataset),
        "callbacks": _order(workload.callbacks) if workload.callbacks else None,
    }
    folder.request.write_text(json.dumps(request), encoding="utf-8")
    try:
        answer = _answer(server, folder, "inspect", seconds)
    except NoAnswer as exc:
        raise _with_detail(_failure(exc, seconds), exc.detail) from exc
    if "complaint" in answer:
        raise _error(answer["complaint"])
    return WorkloadFacts.model_validate(answer["facts"])


def _answer(server: Server, folder: TrialFolder, task: str, seconds: float) -> Any:
    """Return what a process finds; a second one looks where the first was killed.

    Raises:
        NoAnswer: It found nothing.
    """
    with suppress(Killed):
        return Look(server(), folder, task, seconds).answer()
    folder.forget_run()
    return Look(server(), folder, task, seconds).answer()


def _order(factory: Factory) -> dict[str, Any]:
    return factory.model_dump(include={"name", "module", "root", "arguments"})


def _failure(exc: NoAnswer, seconds: float) -> FactoryFailed:
    if isinstance(exc, Blocked):
        return FactoryFailed(
            f"{steps.TOO_LONG[exc.step]} {seconds:g} s.",
            "Check what it waits for; the traceback below shows where it is.",
        )
    return FactoryFailed(
        f"The process that inspects the factories {exc.why} while {exc.step}.",
        "Call the factories in a separate Python session to see why.",
    )


def _error(complaint: Mapping[str, Any]) -> WorkloadError:
    cause, raised = complaint["cause"], complaint["error"]
    if raised:
        cause = cause.replace(ERROR, reason_text(explain(raised)))
    error = _KINDS[complaint["kind"]](cause, complaint["next_step"])
    return _with_detail(error, raised["detail"] if raised else "")


def _with_detail(error: E, detail: str) -> E:
    if detail:
        error.add_note(detail)
    return error
