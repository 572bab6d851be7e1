"""Gives the engine that a name or URL stands for, reserved and started.

A package adds an engine by an entry point of the group `autotune.engines`: a callable that returns
the engine. For a name it is called without arguments, for a URL with the URL.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from autotune.engine.base import Engine
from autotune.engine.lock import Notify, Wait
from autotune.errors import EngineError, UsageError
from autotune.installed import load_attribute, load_plugin
from autotune.text import roughly

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
