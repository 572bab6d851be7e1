"""The process that runs one attempt's search; it dies with its worker.

It is started with the worker's process id and a descriptor for its messages. It does nothing
before it has read its order, so that it never runs without being recorded.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from autotune import events
from autotune.api.failpoints import FailPoint, reach
from autotune.api.isolation import Isolation, Network
from autotune.api.log import say
from autotune.api.work import messages, processes
from autotune.api.work.interruptible import InterruptibleEngine
from autotune.api.work.messages import STUDY, Message, Order, message
from autotune.api.work.trouble import detail, last_word
from autotune.errors import OutputError
from autotune.result import Result
from autotune.run.resolve import new_engine
from autotune.search.request import TuningRequest
from autotune.workload import Workload, factory_from_text

Tell = Callable[[Message], None]


def main(arguments: list[str], network: Network) -> None:
    """Read the order, search, and tell the worker everything.

    Args:
        arguments: The worker's process id, and the descriptor for messages.
        network: Which network this process has.
    """
    processes.die_with(int(arguments[0]))
    tell = _teller(int(arguments[1]))
    line = sys.stdin.buffer.readline()
    if not line:
        return None  # The worker went before it had recorded this process.
    order = Order.model_validate_json(line)
    if order.isolation is Isolation.REQUIRED and not network.own:
        return tell(messages.Stuck(detail=str(network)))
    try:
        result = _search(order, tell, network)
    except Exception as exc:
        last = last_word(exc)
        if last is None:
            raise
        return tell(last)
    reach(FailPoint.TOLD_NOTHING)
    tell(messages.Found(recommendation=result))
    return _save(result, order)


def _teller(channel: int) -> Tell:
    def tell(what: Message) -> None:
        line = memoryview(message.dump_json(what) + b"\n")
        while line:
            line = line[os.write(channel, line) :]

    os.set_inheritable(channel, False)  # noqa: FBT003 - the name says it
    return tell


def _search(order: Order, tell: Tell, network: Network) -> Result:
    # Optuna takes a second to import; the order is read before, so that a worker need not wait.
    from autotune.api.work.kept import restore  # noqa: PLC0415
    from autotune.search.tune import tune  # noqa: PLC0415

    order.out.mkdir(parents=True, exist_ok=True)
    if order.study is not None:
        restore(_url(order), order.study, order.kept)
    engine = InterruptibleEngine(new_engine(order.engine), tell, order.aside)
    # Somebody may run a search on this machine without the service.
    with engine.reserved(order.name, lambda text: tell(events.Notice(text=text))), engine:
        tell(messages.Begun(network=str(network)))
        reach(FailPoint.TUNING)
        return tune(_request(order), engine, _observer(order, tell))


def _save(result: Result, order: Order) -> None:
    """Write the files of a result, which is told already; only the operator may miss them."""
    try:
        result.save(order.out)
    except (OutputError, OSError) as exc:
        say("The files of a result cannot be written.", logging.WARNING, error=detail(exc))


def _request(order: Order) -> TuningRequest:
    return TuningRequest(
        workload=Workload(
            model=factory_from_text(order.model, dict(order.model_arguments)),
            dataset=factory_from_text(order.dataset, dict(order.dataset_arguments)),
        ),
        space=order.space,
        options=order.options,
        out=order.out,
        study=STUDY,
        resume=order.study is not None,
        files=False,
    )


def _url(order: Order) -> str:
    return f"sqlite:///{(order.out / 'study.db').resolve()}"


def _observer(order: Order, tell: Tell) -> events.Observer:
    from autotune.api.work.kept import identity  # noqa: PLC0415 - as above

    def observe(event: events.Event) -> None:
        if isinstance(event, events.Planned):
            tell(messages.Studied(study=identity(_url(order))))
        tell(event)
        match event:
            case events.Planned():
                reach(FailPoint.PLANNED)
            case events.TrialStarted():
                reach(FailPoint.TRIAL_BEGAN)
            case events.TrialEnded():
                reach(FailPoint.TRIAL_ENDED)

    return observe
