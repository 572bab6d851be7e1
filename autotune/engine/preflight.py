"""Asks a process of its own what the machine offers, or what the factories give.

No trial runs meanwhile, so a process that is killed is simply started once more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from signal import SIGKILL
from typing import Any, TypeVar

from autotune import disk
from autotune.engine import events
from autotune.engine.events import Step
from autotune.engine.failure import ERROR
from autotune.engine.folder import TrialFolder
from autotune.engine.reasons import explain, is_of_the_disk
from autotune.engine.workers import POLL, Exit, Report, WorkerGroup, WorkersLost
from autotune.errors import (
    DatasetTooSmall,
    EngineError,
    FactoryFailed,
    FactoryNotFound,
    OutputError,
    ScriptFailed,
    WorkloadError,
)
from autotune.machine import Machine, this_host
from autotune.program import script_reader
from autotune.reason import Exited
from autotune.reason.sentences import death, reason_text
from autotune.value import Scalar
from autotune.workload import Factory, Workload, WorkloadFacts

E = TypeVar("E", bound=Exception)
NewGroup = Callable[[TrialFolder, str], WorkerGroup]
"""Makes a group of one process for a task, by the task's name in `autotune.engine.child`."""

_START_SECONDS = 60.0
_LOOKING_SECONDS = 60.0  # For all looks at the data; a slow script may take longer to its fit.
_DEVICE_SECONDS = 120.0
_KINDS: Mapping[str, type[WorkloadError]] = {
    kind.__name__: kind for kind in (FactoryNotFound, FactoryFailed, ScriptFailed, DatasetTooSmall)
}
_TOO_LONG: Mapping[Step, str] = {
    Step.STARTING: "The process that inspects the factories did not start within",
    Step.IMPORTING: "Importing the factories took longer than",
    Step.RUNNING: "The script did not come to its fit within",
    Step.CALLING_DATASET: "dataset_fn did not return within",
    Step.FIRST_EXAMPLE: "dataset_fn's dataset yielded no example within",
    Step.CALLING_MODEL: "model_fn did not return within",
    Step.TRYING: "One training step on a few examples took longer than",
    Step.LOOKING: "The dataset yielded no example for more than",
}
"""The beginning of a sentence that ends with a number of seconds."""


def machine(new_group: NewGroup, folder: TrialFolder) -> Machine:
    """Return what this machine offers, as TensorFlow sees it.

    Raises:
        EngineError: TensorFlow cannot list its devices.
    """
    try:
        found = _answer(new_group, folder, "devices", _DEVICE_SECONDS)
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
    new_group: NewGroup,
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
        "seconds": min(seconds, _LOOKING_SECONDS),
        "script": script_reader(workload.script) if workload.script else None,
        "offered": dict(offered),
        "unbatch": workload.unbatch,
        "examples": workload.examples,
        "model": _order(workload.model),
        "dataset": _order(workload.dataset),
        "callbacks": _order(workload.callbacks) if workload.callbacks else None,
    }
    folder.request.write_text(json.dumps(request), encoding="utf-8")
    try:
        answer = _answer(new_group, folder, "inspect", seconds)
    except NoAnswer as exc:
        failure = _failure(exc, seconds)
        blocked = isinstance(exc, StepBlocked)
        raise failure if blocked else _with_detail(failure, exc.detail) from exc
    if "complaint" in answer:
        raise _error(answer["complaint"])
    return WorkloadFacts.model_validate(answer["facts"])


def _answer(new_group: NewGroup, folder: TrialFolder, task: str, seconds: float) -> Any:
    """Return what a process finds; a second one is asked where the first was killed.

    Args:
        new_group: Makes the process.
        folder: Holds its request, and gets its answer.
        task: What it does.
        seconds: Longest time for each of its steps.

    Raises:
        NoAnswer: It found nothing.
        OutputError: The disk takes nothing.
    """
    try:
        with suppress(ProcessKilled):
            return Inquiry(new_group(folder, task), seconds).answer(folder)
        folder.forget_run()
        return Inquiry(new_group(folder, task), seconds).answer(folder)
    except NoRoom as exc:
        raise OutputError(
            f"{folder.path.parent} cannot be used: a process {exc.why}.", disk.NEXT_STEP
        ) from exc


def _order(factory: Factory) -> dict[str, Any]:
    return factory.model_dump(include={"name", "module", "root", "arguments"})


def _failure(exc: NoAnswer, seconds: float) -> FactoryFailed:
    if isinstance(exc, StepBlocked):
        where = f" It stood here:\n{exc.detail}" if exc.detail else ""
        return FactoryFailed(
            f"{_TOO_LONG[exc.step]} {seconds:g} s.", f"Check what it waits for.{where}"
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


class NoAnswer(Exception):
    """A process left no answer.

    Args:
        why: The predicate of a sentence on the process.
        step: What it did at the time.
        detail: The last lines that it printed.
    """

    def __init__(self, why: str, step: Step, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.step = step
        self.detail = detail


class StepBlocked(NoAnswer):
    """A step took longer than its limit."""


class NoRoom(NoAnswer):
    """It could not write its files."""


class ProcessKilled(NoAnswer):
    """Somebody killed the process, who may have meant another one."""


class Inquiry:
    """Follows a process that leaves an answer in its folder.

    Args:
        group: That process, not started yet.
        seconds: Longest time for each of its steps.
    """

    def __init__(self, group: WorkerGroup, seconds: float) -> None:
        self._group = group
        self._seconds = seconds
        self._since = time.monotonic()
        self._step = Step.STARTING

    def answer(self, folder: TrialFolder) -> Any:
        """Run the process to its end and return what it found.

        Raises:
            NoAnswer: It found nothing.
        """
        try:
            self._group.start()
            while not self._group.exits():
                self._hear(self._group.listen(POLL))
                self._check()
            self._hear(self._group.read())
            self._check_exit(self._group.exits()[0])
        except WorkersLost as exc:
            why = "was killed together with its parent process"
            raise ProcessKilled(why, self._step) from exc
        finally:
            self._group.end()
        return json.loads(folder.answer.read_text(encoding="utf-8"))

    def _hear(self, reports: Sequence[Report]) -> None:
        for _, event in reports:
            if event["event"] == events.ERROR:
                why = f"failed with {reason_text(explain(event)).rstrip('.')}"
                kind = NoRoom if is_of_the_disk(event) else NoAnswer
                raise kind(why, self._step, event["detail"])
            if event["event"] == events.DOING:
                self._step, self._since = Step(event["what"]), event["at"]

    def _check(self) -> None:
        limit = _START_SECONDS if self._step == Step.STARTING else self._seconds
        if time.monotonic() - self._since > limit:
            raise StepBlocked(f"took longer than {limit:g} s", self._step, self._group.stack(0))
        if self._group.memory().exceeded:
            raise NoAnswer("ran out of memory", self._step)

    def _check_exit(self, found: Exit) -> None:
        if isinstance(found, Exited) and found.code == 0:
            return
        killed = not isinstance(found, Exited) and getattr(found, "signal", SIGKILL) == SIGKILL
        kind = ProcessKilled if killed else NoAnswer
        if isinstance(found, Exited) and found.code == disk.EXIT_CODE:
            kind = NoRoom
        raise kind(death(found), self._step, self._group.last_words(0))
