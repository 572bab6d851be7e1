"""The child process of an attempt, as its worker sees it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from autotune.api import sandbox
from autotune.api.isolation import Isolation
from autotune.api.settings import PREFIX, Settings
from autotune.api.values import ProcessIdentity
from autotune.api.work import processes
from autotune.api.work.messages import ODD, GaveUp, Message, SearchOrder, message
from autotune.text import cleaned

# As in `autotune.engine.fork_client`: the worker's own module path finds the same autotune. The
# network comes before all that starts threads.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from autotune.api.isolation import enter; shared = enter(sys.argv.pop()); "
    "from autotune.api.work.child import main; main(sys.argv[1:], shared)"
)
_WITHHELD = (PREFIX, "OTEL_")
"""Begin the variables of the service's own settings, and of where its traces go."""
LONGEST_LINE, AT_ONCE, MOST = 1 << 26, 1 << 24, 1 << 28
"""Bytes of a message, of what is heard before it is looked at, and of all messages."""


class Tuner:
    """Starts the process, hears it, and ends it with all that it started.

    It must be used by the thread that starts it, for as long as that lives: the kernel ends the
    process with that thread.
    """

    def __init__(
        self, marker: str, settings: Settings, order: SearchOrder, *, adopts: bool
    ) -> None:
        self.order = order
        self._marker = marker
        self._adopts = adopts
        self._received, self._heard = b"", 0
        marked = {processes.MARKER: marker}
        # What may hold a password of the service's is not for a workload.
        kept = {name: text for name, text in os.environ.items() if not name.startswith(_WITHHELD)}
        before, environment, parent, network = [], {**kept, **marked}, os.getpid(), order.isolation
        if order.code is not None:
            before = sandbox.command(settings, order.out, order.code)
            environment, parent, network = sandbox.variables(marked), 0, Isolation.HAD
        with (order.out / "search.log").open("ab") as output:
            self._channel, theirs = os.pipe()
            paths = [str(Path(each).absolute()) for each in sys.path]
            program = [*before, sys.executable, "-c", _PROGRAM, str(parent), str(theirs)]
            try:
                self._process = subprocess.Popen(
                    [*program, network, json.dumps(paths)],
                    env=environment,
                    cwd=settings.root,
                    pass_fds=[theirs],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError:
                os.close(self._channel)
                raise
            finally:
                os.close(theirs)

    @property
    def identity(self) -> ProcessIdentity | None:
        return processes.identity(self._process.pid)

    @property
    def ended(self) -> int | None:
        return self._process.poll()

    def go(self) -> None:
        channel = self._process.stdin
        with suppress(BrokenPipeError):
            if channel is not None:
                channel.write(self.order.model_dump_json().encode() + b"\n")
                channel.close()

    def listen(self, seconds: float) -> list[Message]:
        """Return its messages, waiting at most that long for the first.

        Whatever is no message ends the search, and is the last one.
        """
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        lines: list[bytes] = []
        until = self._heard + AT_ONCE
        while self._heard < until and poll.poll(0 if lines else seconds * 1000):
            data = os.read(self._channel, 1 << 20)
            if not data:  # It has closed its end, and is about to go.
                time.sleep(0 if lines else seconds)
                break
            self._heard += len(data)
            *whole, self._received = (self._received + data).split(b"\n")
            lines += whole
        endless = len(self._received) > LONGEST_LINE or self._heard > MOST
        return [*_read(lines, endless=endless)]

    def interrupt(self) -> None:
        if self.order.code is None:
            return self._process.send_signal(signal.SIGINT)
        # Two processes of bubblewrap are before it, and pass no signal on.
        with suppress(psutil.Error, IndexError):
            first = psutil.Process(self._process.pid).children()[0]
            first.children()[0].send_signal(signal.SIGINT)
        return None

    def use(self) -> sandbox.Use | None:
        """Return what uploaded code takes; None for a registered workload."""
        if self.order.code is None:
            return None
        with suppress(psutil.Error):
            return sandbox.use_of(psutil.Process(self._process.pid), [self.order.out])
        return None

    def end(self) -> bool:
        """Kill it with all that it started; return whether nothing is left."""
        self._process.kill()
        gone = processes.end_all(self._left)
        if self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
        return gone

    def close(self) -> None:
        self._process.wait()
        os.close(self._channel)
        if self._adopts:
            processes.reap_adopted()

    def _left(self) -> list[psutil.Process]:
        self._process.poll()
        strays = processes.children() if self._adopts else []
        return processes.marked(self._marker) + strays


def _read(lines: list[bytes], *, endless: bool = False) -> Iterator[Message]:
    for line in lines:
        try:
            yield message.validate_json(cleaned(line))
        except (ValueError, RecursionError):
            yield GaveUp(reason=ODD)
            return
    if endless:
        yield GaveUp(reason=ODD)
