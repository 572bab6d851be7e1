"""`autotune serve`: the service, whose parts are started, kept running, and ended together."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Annotated, Literal

import typer

from autotune.cli.console import log, write_out
from autotune.cli.options import SettingsFile
from autotune.errors import UsageError

Host = Annotated[str, typer.Option(help="Host name or address to bind to.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to bind to; 0 picks a free one.")]
NoKeys = Annotated[
    bool,
    typer.Option("--no-keys", help="Disable API keys; only with a loopback host."),
]
LOCAL_HOST, USUAL_PORT = "127.0.0.1", 8321
# The parts find the same autotune as this process, and die with it however it dies.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from autotune.api.work.processes import die_with; die_with(int(sys.argv.pop())); "
    "from autotune.cli import main; main()"
)
STABLE_SECONDS = 10.0
"""A part that gives up before that cannot run at all; one that lived longer is started again."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
GRACE_SECONDS = 20.0
_POLL_SECONDS = 0.2


def serve(
    *,
    part: Annotated[
        Literal["api", "worker"] | None,
        typer.Argument(help="Run only this part; without it both.", show_default=False),
    ] = None,
    host: Host = LOCAL_HOST,
    port: Port = USUAL_PORT,
    no_keys: NoKeys = False,
    settings: SettingsFile = None,
) -> None:
    """Run the API and a worker, which processes one job at a time, until Ctrl-C or SIGTERM."""
    from autotune.versions import check_service

    check_service()
    if part == "worker":
        if (host, port, no_keys) != (LOCAL_HOST, USUAL_PORT, False):
            raise UsageError("A worker takes no --host, --port or --no-keys.", "Leave them out.")
        from autotune.api.work.worker import main

        return main(settings)
    if part == "api":
        from autotune.api.http.app import serve as serve_api
        from autotune.api.log import write_log
        from autotune.api.settings import load_settings

        given = load_settings(settings)
        write_log(given.log)
        return serve_api(given, host, port, lambda text: write_out(f"{text}\n"), keys=not no_keys)
    file = ("--settings", str(settings.absolute())) if settings else ()
    flags = ("--no-keys",) if no_keys else ()
    api = ("serve", "api", "--host", host, "--port", str(port), *flags, *file)
    raise typer.Exit(supervise({"API": api, "worker": ("serve", "worker", *file)}))


class Part:
    """A command of autotune that is kept running, by one thread, which lives as long as it."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self._name = name
        self._command = command
        self._pause = SHORTEST_PAUSE
        self._again: float | None = None
        self._stable = False
        self._start()

    def exit_code(self) -> int | None:
        """Start it again if it died; return its exit code if it cannot run at all."""
        if self._again is not None:
            if time.monotonic() >= self._again:
                self._start()
            return None
        code = self._process.poll()
        if code is None:
            if time.monotonic() - self._started > STABLE_SECONDS:
                self._stable, self._pause = True, SHORTEST_PAUSE
            return None
        if code > 0 and not self._stable:
            return code
        died = f"was terminated by signal {-code}" if code < 0 else f"exited with code {code}"
        log(f"The {self._name} {died}; restarting.")
        self._again = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        return None

    def ask_to_end(self) -> None:
        self._process.terminate()

    def end(self, seconds: float) -> None:
        """Wait for it to end, and kill it if it does not."""
        try:
            self._process.wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        self._again, self._started = None, time.monotonic()
        path = json.dumps([str(Path(each).absolute()) for each in sys.path])
        # A group of its own: Ctrl-C reaches this process only, which then ends all in order.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *self._command, str(os.getpid()), path],
            stdin=subprocess.DEVNULL,
            process_group=0,
        )


def supervise(commands: Mapping[str, Sequence[str]]) -> int:
    """Run commands by name from the main thread until SIGTERM or Ctrl-C; return the exit code."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    parts = [Part(name, command) for name, command in commands.items()]
    try:
        while not stop.wait(_POLL_SECONDS):
            for each in parts:
                code = each.exit_code()
                if code is not None:
                    return code
        return 0
    finally:
        for each in parts:
            each.ask_to_end()
        deadline = time.monotonic() + GRACE_SECONDS
        for each in parts:
            each.end(deadline - time.monotonic())
