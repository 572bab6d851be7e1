"""When Ctrl-C counts: it ends what an engine runs, and comes too late for a result being made.

Signals interrupt the main thread alone; elsewhere nothing of this does anything.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self, cast

from autotune.engine.base import A, Engine, Task, Watch, go_on
from autotune.machine import Machine


class Interruptible:
    """Hands every call on to another engine, but runs nothing more after an interrupt.

    `KeyboardInterrupt` gets lost where it is raised in a callback or a finalizer; this one is
    raised again before the next run. It does not derive from `Engine`, whose defaults would answer
    some of the calls.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._interrupted = False

    def __enter__(self) -> Self:
        self._engine.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._engine.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        del number, frame
        self._interrupted = True
        raise KeyboardInterrupt

    def machine(self) -> Machine:
        self._go_on()
        return self._engine.machine()

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        self._go_on()
        return self._engine.execute(task, watch)

    def _go_on(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt


@contextmanager
def interruptible(engine: Engine) -> Iterator[Engine]:
    """Let Ctrl-C end what an engine runs inside this block, unless the caller handles it."""
    is_handled = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    if is_handled or not _is_main_thread():
        yield engine
        return
    wrapped = Interruptible(engine)
    signal.signal(signal.SIGINT, wrapped.interrupt)
    try:
        yield cast("Engine", wrapped)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def uninterrupted() -> Iterator[list[int]]:
    """Let Ctrl-C and SIGTERM come too late where a result is being made; give those that came."""
    came: list[int] = []
    if not _is_main_thread():
        yield came
        return
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for each in before:
            signal.signal(each, lambda number, _: came.append(number))
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler or signal.SIG_DFL)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
