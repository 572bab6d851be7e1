"""The engine of a search: made of its name or URL, reserved, and ended by Ctrl-C.

A package adds an engine by an entry point of the group `autotune.engines`: a callable that returns
the engine. For a name it is called without arguments, for a URL with the URL.

Signals interrupt the main thread alone; elsewhere Ctrl-C ends nothing.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from types import FrameType
from typing import Any, Self, cast

from autotune.engine.base import A, Engine, Task, Watch, go_on
from autotune.engine.lock import Notify, Wait
from autotune.errors import EngineError, UsageError
from autotune.machine import Machine
from autotune.text import roughly
from autotune.versions import load_attribute, load_plugin

GROUP = "autotune.engines"
QUIET_POLL_SECONDS = 5.0
"""Between readings of what other programs use."""
LOCAL = "local"
BUILTINS = {
    LOCAL: "autotune.engine.local:LocalEngine",
    "ray": "autotune.engine.ray:RayEngine",
}


def new_engine(text: str = LOCAL) -> Engine:
    """Make an engine. It starts nothing before it is entered or used.

    Args:
        text: Name of an entry point (`local`), a URL whose scheme is one (`ray://head:6379`), or
            `package.module:callable`.

    Raises:
        UsageError: There is no such engine, or it cannot be imported or made.
    """
    scheme, is_url, _ = text.partition("://")
    if ":" in text and not is_url:
        factory = load_attribute(text, GROUP)
    else:
        factory = load_plugin(GROUP, scheme, BUILTINS)
    if not callable(factory):
        raise UsageError(f"The engine {text!r} is not callable.", "It must return an Engine.")
    made: Engine = factory(text) if is_url else factory()
    return made


@contextmanager
def reserved_engine(
    engine: Engine | str | None,
    what: str,
    notify: Notify,
    *,
    seconds: float | None = None,
    wait: bool = True,
) -> Iterator[Engine]:
    """Reserve an engine for one search; make, start and close it unless it is the caller's.

    Where it is not to wait for others, that others are running there is an error.
    """
    notify = notify if wait else partial(_refuse, notify)
    if engine is not None and not isinstance(engine, str):
        with engine.reserved(what, notify, seconds):
            yield engine
        return
    made = new_engine(engine or LOCAL)
    # Reserved before it is started and until it is closed: both disturb the timings of others.
    # Closed also where the wait is interrupted.
    with closing(made), made.reserved(what, notify, seconds), made:
        yield made


def wait_for_quiet(engine: Engine, seconds: float, notify: Notify) -> None:
    """Wait until other programs leave the cores of an engine, for so many seconds at most."""
    if not seconds:
        return
    engine.load()
    until, notified = time.monotonic() + seconds, False
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(QUIET_POLL_SECONDS, left))
        load = engine.load()
        if load is None or not load.noticeable:
            return
        if not notified:
            user = load.busiest or "Another program"
            most = f"for {roughly(left)} at most"
            notify(f"{user} uses the cores: the search waits for a quiet machine, {most}.")
        notified = True


def _refuse(notify: Notify, notice: Wait | str) -> None:
    if not isinstance(notice, Wait):
        notify(notice)
    else:
        raise EngineError(
            f"{notice.holder_clause}.", "Omit --no-wait to wait until it has finished."
        )


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
