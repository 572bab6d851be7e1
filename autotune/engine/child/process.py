"""A process of a task, from its fork on: its program, and how it reports what it found.

Only the standard library, TensorFlow and Keras are imported here before the user's code, so that
the program runs as it would by itself.
"""

import ctypes
import faulthandler
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import keras
import numpy as np
import tensorflow as tf

from autotune.disk import EXIT_CODE, is_of_a_folder
from autotune.engine import events
from autotune.engine.child.script import end_with_fit
from autotune.engine.events import STACK_SIGNAL, EventWriter, TrialFolder, describe, trace
from autotune.library import FOLDER

PROGRAM = "autotune_train"
"""Name of the program's module. Plain `train` may be a file of the user's, which it imports."""
ENDLESS = 1_000_000_000
"""Epochs. The tuner ends a trial, not the program."""


def execute(script: Path, text: str) -> ModuleType:
    """Run the top level of a program's text."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(1, str(FOLDER))  # Where it is delivered, they lie beside it.
    program = ModuleType(PROGRAM)
    program.__file__ = str(script)
    sys.modules[PROGRAM] = program
    sys.argv = [str(script)]
    code = compile(text, str(script), "exec")
    exec(code, program.__dict__)  # noqa: S102 - running this program is the purpose
    return program


class Member:
    def __init__(self, folder: TrialFolder, index: int) -> None:
        self.folder = folder
        self.index = index
        self.writer = EventWriter(folder.events(index))
        self.request: dict[str, Any] = json.loads(folder.request.read_text(encoding="utf-8"))

    def program(self) -> ModuleType:
        script = self.folder.script
        program = execute(script, script.read_text(encoding="utf-8"))
        for name in self.request["by_value"]:
            import cloudpickle  # noqa: PLC0415 - few trials need it

            setattr(program, name, cloudpickle.loads(self.folder.pickled(name).read_bytes()))
        if hasattr(program, "script"):
            end_with_fit(program, validates=self.request.get("validates", False))
        return program

    def arguments(self, **options: object) -> list[str]:
        """Return the arguments of a program, which trains until it is ended unless they say so.

        It validates, and saves as it does by itself, only where that is requested.
        """
        given = {"epochs": ENDLESS, "seed": self.request["seed"], **options}
        pairs = [text for name, value in given.items() for text in (f"--{name}", str(value))]
        without = ("--no-validation", "--no-resume") if not self.request.get("validates") else ()
        return [*pairs, *without]

    def announce(self, what: str) -> None:
        """Say what is done next, so that the tuner knows what blocks."""
        self.writer.write(events.DOING, what=what)

    def leave(self, answer: Mapping[str, Any]) -> None:
        """Leave an answer, which may not be the last."""
        write_whole(self.folder.answers(self.index), json.dumps(answer).encode())

    def finish(self, answer: Mapping[str, Any]) -> NoReturn:
        """Leave the answer, and stay until the tuner, which waits for all, ends every process.

        A worker that left would take its connections with it while the others still need them.
        """
        self.leave(answer)
        self.writer.write(events.ANSWERED)
        while True:
            time.sleep(1)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there either whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(data)
    os.replace(draft, path)  # noqa: PTH105 - the atomic one


_PR_SET_PDEATHSIG = 1
_MOST_KILLABLE = "1000"
_libc = ctypes.CDLL(None)


def enter(order: Mapping[str, Any], server: int) -> NoReturn:
    """Do what was ordered, and leave; nothing may escape into the server's loop."""
    code = 1
    try:
        folder = TrialFolder(order["folder"])
        _redirect(folder.output(order["index"]))
        _isolate(server)
        _settle(order)
        code = _report(Member(folder, order["index"]))
    except BaseException as exc:  # noqa: BLE001 - as said above
        code = EXIT_CODE if is_of_a_folder(exc) else code
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)  # Without the exit handlers of libraries, some of which crash.


def _redirect(output: Path) -> None:
    """Print to a file from now on, line by line, so that little is lost by a kill."""
    handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr] # files, not any TextIO
    faulthandler.enable()
    faulthandler.register(STACK_SIGNAL)


def _isolate(server: int) -> None:
    """Make a group of its own that dies with the server, and before anything else for memory."""
    os.setsid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(1)
    Path("/proc/self/oom_score_adj").write_text(_MOST_KILLABLE, encoding="ascii")
    # A dump of all memory would take long, and lie in the user's folder.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Ctrl-C belongs to the tuner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _settle(order: Mapping[str, Any]) -> None:
    """Take on the tuner's folder and module path, and the environment of this role."""
    os.chdir(order["directory"])
    sys.path[:] = [order["folder"], *order["path"]]
    for name, value in order["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    importlib.invalidate_caches()
    # Otherwise all children would share the state of the server's old generator.
    np.random.seed()  # noqa: NPY002 - see above


def _report(member: Member) -> int:
    writer = member.writer
    writer.write(events.STARTED)
    try:
        module, _, function = member.request["code"].partition(":")
        getattr(importlib.import_module(module), function)(member)
    except BaseException as exc:  # noqa: BLE001 - also SystemExit is an end worth reporting
        print(trace(exc), file=sys.stderr)  # noqa: T201 - the trial's own output
        writer.write(events.ERROR, **describe(exc))
        return 1
    writer.write(events.FINISHED)
    return 0


def list_devices(member: Member) -> None:
    gpus = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details
    found = {
        "gpus": [str(details(gpu).get("device_name", gpu.name)) for gpu in gpus],
        "tpus": len(tf.config.list_physical_devices("TPU")),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
    }
    member.finish(found)
