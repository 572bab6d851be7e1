"""The child process of an attempt, as its worker sees it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from autotune.api.isolation import Isolation
from autotune.api.settings import PREFIX
from autotune.api.values import Birth
from autotune.api.work import processes
from autotune.api.work.messages import Message, Order, message
from autotune.api.work.places import Places

# As in `autotune.run.forking`: the worker's own module path finds the same autotune. The network
# comes before all that starts threads.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from autotune.api.isolation import enter; network = enter(sys.argv.pop()); "
    "from autotune.api.work.child import main; main(sys.argv[1:], network)"
)


class Tuner:
    """Starts the process, hears it, and ends it with all that it started.

    It must be used by the thread that starts it, for as long as that lives: the kernel ends the
    process with that thread.

    Args:
        marker: What its environment holds.
        places: The operator's folders; it runs in the root, and its texts lose them.
        log: File for what it prints.
        isolation: Whether it gets a network of its own.
        adopts: Whether this process adopts orphans, and has no other children.

    Raises:
        OSError: The log cannot be written, or no process be started.
    """

    def __init__(
        self, marker: str, places: Places, log: Path, *, isolation: Isolation, adopts: bool
    ) -> None:
        self._marker = marker
        self._places = places
        self._isolation = isolation
        self._adopts = adopts
        self._received = b""
        self._channel, theirs = os.pipe()
        try:
            self._process = self._started(theirs, log)
        except OSError:
            os.close(self._channel)
            raise
        finally:
            os.close(theirs)

    def _started(self, channel: int, log: Path) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-c", _PROGRAM, str(os.getpid()), str(channel)]
        with log.open("ab") as output:
            return subprocess.Popen(
                [*program, self._isolation, _paths()],
                env=_environment(os.environ, self._marker),
                cwd=self._places.root,
                pass_fds=[channel],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def birth(self) -> Birth | None:
        """Who it is; None if it is gone already."""
        return processes.birth(self._process.pid)

    @property
    def ended(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def go(self, order: Order) -> None:
        """Give it its order; before that it does nothing."""
        channel = self._process.stdin
        with suppress(BrokenPipeError):
            if channel is not None:
                channel.write(order.model_dump_json().encode() + b"\n")
                channel.close()

    def listen(self, seconds: float) -> list[Message]:
        """Return what it says, waiting at most that long for it to say something."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        lines: list[bytes] = []
        while poll.poll(0 if lines else seconds * 1000):
            data = os.read(self._channel, 1 << 20)
            if not data:  # It has closed its end, and is about to go.
                time.sleep(0 if lines else seconds)
                break
            *whole, self._received = (self._received + data).split(b"\n")
            lines += whole
        return [self._places.told(message.validate_json(line)) for line in lines]

    def interrupt(self) -> None:
        """Ask it to end with what it has found."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def end(self) -> bool:
        """Kill it with all that it started; return whether nothing is left."""
        with suppress(ProcessLookupError):
            self._process.kill()
        gone = processes.end_all(self._left)
        if self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
        return gone

    def close(self) -> None:
        """Let go of what it might still have said."""
        self._process.wait()
        os.close(self._channel)
        if self._adopts:
            processes.reap_adopted()

    def _left(self) -> list[psutil.Process]:
        self._process.poll()
        strays = processes.children() if self._adopts else []
        return processes.marked(self._marker) + strays


def _paths() -> str:
    return json.dumps([str(Path(each).absolute()) for each in sys.path])


def _environment(own: Mapping[str, str], marker: str) -> dict[str, str]:
    """Return the worker's variables without the service's settings, which may hold a password."""
    kept = {name: value for name, value in own.items() if not name.startswith(PREFIX)}
    return {**kept, processes.MARKER: marker}
