"""The process that runs one attempt's search; it dies with its worker.

It is started with the worker's process id and a descriptor for its messages. It does nothing
before it has read its order, so that it never runs without being recorded.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable, Collection
from typing import cast

from autotune import events
from autotune.api.isolation import Isolation
from autotune.api.values import AttemptReport
from autotune.api.work import messages, processes
from autotune.config import Configuration
from autotune.engine.base import A, Engine, RunResult, Task, Watch, go_on
from autotune.engine.lock import Wait
from autotune.engine.resolve import Interruptible, new_engine
from autotune.engine.tasks import trial_in
from autotune.errors import OutputError
from autotune.face import Face, shown_by
from autotune.reason import Outcome, PlainReason, ReasonKind
from autotune.result import Result
from autotune.search.setup import TuningRequest
from autotune.tuning import workload_of
from autotune.workload import Workload, script_from_text, script_workload

BUSY = "Another search uses the machine, and this one begins after it."
"""In place of the engine's own notice, which is for the user of the machine."""
Send = Callable[[messages.Message], None]


@shown_by(Face.SERVICE)
def main(arguments: list[str], shared: str | None) -> None:
    """Read the order, search, and send the worker all messages.

    `arguments` are the worker's process id, 0 in a sandbox, which ends with the worker; and the
    descriptor for messages. `shared` is why the network is the machine's; None for one of its own.
    """
    if parent := int(arguments[0]):
        processes.die_with(parent)
    send = _sender(int(arguments[1]))
    line = sys.stdin.buffer.readline()
    if not line:
        return None  # The worker went before it had recorded this process.
    order = messages.SearchOrder.model_validate_json(line)
    if order.limits is not None:
        _limit(*order.limits)
    if order.isolation is Isolation.REQUIRED and shared is not None:
        return send(messages.Stuck(for_log=_network(shared)))
    try:
        result = _search(order, send, shared)
    except Exception as exc:
        last = messages.final_message(exc)
        if last is None:
            raise
        return send(last)
    return send(messages.Found(recommendation=result))


def _limit(processes: int, file: int) -> None:
    """Bound what the program may take, as far as the system does that."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NPROC, processes),
    ):
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def _sender(channel: int) -> Send:
    def send(what: messages.Message) -> None:
        left = memoryview(messages.line(what))
        while left:
            left = left[os.write(channel, left) :]

    os.set_inheritable(channel, False)  # noqa: FBT003 - the name says it
    return send


def _search(order: messages.SearchOrder, send: Send, shared: str | None) -> Result:
    # Optuna takes a second to import; the order is read before, so that a worker need not wait.
    from autotune.search.resume import restore  # noqa: PLC0415 - see above
    from autotune.search.tune import tune  # noqa: PLC0415 - see above

    order.out.mkdir(parents=True, exist_ok=True)
    if order.study is not None:
        # A study's own file may lack the last trial, or lie on another host: the database counts.
        restore(_url(order), messages.STUDY, order.study, order.kept)
    engine = cast("Engine", Reporting(new_engine(order.engine), send, order.excluded))
    # A search without the service may run on this machine.
    with engine.reserved(order.name, lambda wait: send(_busy(wait)), order.options.budget), engine:
        send(AttemptReport(began=True, events=(events.Notice(text=_network(shared)),)))
        request = TuningRequest(
            workload=_workload(order),
            space=order.space,
            options=order.options,
            out=order.out,
            study=messages.STUDY,
            resume=order.study is not None,
            files=False,
        )
        result = tune(request, engine, _observer(order, send))
        # The result is made: only closing and sending are left.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if result.unsaved:
        # Another worker has room; it goes on with the trials that the database holds.
        raise OutputError(result.unsaved.cause)
    return result


def _workload(order: messages.SearchOrder) -> Workload:
    if not order.dataset and order.code is not None:
        return script_workload(script_from_text(order.model, order.arguments, order.fit))
    arguments = (order.model_arguments, order.dataset_arguments)
    return workload_of(order.model, order.dataset, *arguments)


def _network(shared: str | None) -> str:
    if shared is not None:
        return f"The search uses the machine's network ({shared})."
    own = "The search runs in its own network namespace"
    return f"{own}; its workers are not reachable from outside."


def _busy(wait: Wait | str) -> events.Notice:
    """Return what a job waits for, without the name of a search that is another's."""
    shown = wait.model_copy(update={"holder": None}) if isinstance(wait, Wait) else None
    return events.Notice(text=BUSY, waiting=shown)


def _url(order: messages.SearchOrder) -> str:
    return f"sqlite:///{(order.out / 'study.db').resolve()}"


def _observer(order: messages.SearchOrder, send: Send) -> events.Observer:
    from autotune.search.resume import made_for  # noqa: PLC0415 - see above

    measured = 0

    def observe(event: events.Event) -> None:
        nonlocal measured
        measured += isinstance(event, events.TrialEnded) and event.trial.measured
        # Behind the first trial comes to it what is learned of the model.
        begins = isinstance(event, events.TrialStarted) and measured == 1
        if isinstance(event, events.Planned) or begins:
            send(AttemptReport(study=made_for(_url(order), messages.STUDY)))
        send(event)

    return observe


class Reporting(Interruptible):
    """An engine that sends what it runs, and runs nothing excluded."""

    def __init__(self, engine: Engine, send: Send, excluded: Collection[Configuration]) -> None:
        super().__init__(engine)
        self._send = send
        self._excluded = frozenset(excluded)
        signal.signal(signal.SIGINT, self.interrupt)

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        self._go_on()
        trial = trial_in(task)
        if trial is None:
            return self._engine.execute(task, watch)
        if trial.configuration in self._excluded:
            reason = PlainReason(kind=ReasonKind.EXCLUDED, deaths=messages.MOST_DEATHS)
            return task.answer(RunResult(outcome=Outcome.CRASHED, reason=reason))
        self._send(AttemptReport(running=trial.configuration))
        answer = self._engine.execute(task, watch)
        self._send(AttemptReport(idle=True))
        return answer
