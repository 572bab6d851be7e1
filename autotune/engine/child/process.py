"""A process of a trial, from its fork on.

Only the standard library, TensorFlow and Keras are imported here before the user's code, so that
the program runs as it would by itself.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import keras
import numpy as np
import tensorflow as tf

from autotune.disk import EXIT_CODE, is_of_a_folder
from autotune.engine import events
from autotune.engine.child import inspect, observe, screen
from autotune.engine.child.callback_times import CallbackTimes
from autotune.engine.child.clock import Clock, ClockCallback
from autotune.engine.child.exchange import remove_exchange
from autotune.engine.child.fill import fill_caches
from autotune.engine.child.program import endless, load_program
from autotune.engine.events import EventWriter
from autotune.engine.failure import STACK_SIGNAL, describe, trace
from autotune.engine.folder import TrialFolder

_PR_SET_PDEATHSIG = 1
_MOST_KILLABLE = "1000"
_libc = ctypes.CDLL(None)

Task = Callable[[TrialFolder, EventWriter, int], None]
"""What a process is for; it is given its position among those of its kind."""


def enter(order: Mapping[str, Any], server: int) -> NoReturn:
    """Do what was ordered, and leave; nothing may escape into the server's loop."""
    code = 1
    try:
        folder = TrialFolder(order["folder"])
        _redirect(folder.output(order["index"]))
        _isolate(server)
        _settle(order)
        code = _report(folder, order)
    except BaseException as exc:  # noqa: BLE001 - as said above
        code = EXIT_CODE if is_of_a_folder(exc) else code
        traceback.print_exc()
    finally:
        _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process without the exit handlers of libraries, some of which crash."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


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


def _report(folder: TrialFolder, order: Mapping[str, Any]) -> int:
    writer = EventWriter(folder.events(order["index"]))
    writer.write(events.STARTED)
    try:
        TASKS[order["task"]](folder, writer, order["index"])
    except BaseException as exc:  # noqa: BLE001 - also SystemExit is an end worth reporting
        print(trace(exc), file=sys.stderr)  # noqa: T201 - the trial's own output
        writer.write(events.ERROR, **describe(exc))
        return 1
    writer.write(events.FINISHED)
    return 0


def _train(folder: TrialFolder, writer: EventWriter, _: int) -> None:
    """Run the training program with the clock attached."""
    request = json.loads(folder.request.read_text(encoding="utf-8"))
    times = CallbackTimes()
    times.watch()
    program = load_program(folder, request["by_value"])
    if request["fill"]:
        fill_caches(program, request["fill"], writer)
    clock = ClockCallback(Clock(writer, callbacks=times.take), _steps_of_a_call(program))
    program.main(endless(request), callbacks=[clock])


def _steps_of_a_call(program: ModuleType) -> int:
    """Return the steps of a call; one for a program that sets no number."""
    return int(getattr(program, "STEPS_PER_EXECUTION", 1))


def _train_apart(folder: TrialFolder, writer: EventWriter, index: int) -> None:
    """Do the same, with replicas that keep their gradients to themselves."""
    remove_exchange()
    _train(folder, writer, index)


def _learn(folder: TrialFolder, writer: EventWriter, index: int) -> None:
    """Train for a while, and look at the gradients."""
    from autotune.engine.child.learn import learn  # noqa: PLC0415 - what it needs, no trial should have

    learn(folder, writer, index)


def _alone(look: Callable[[TrialFolder, EventWriter], None]) -> Task:
    """Return a task for one process, which needs not know which one it is."""
    return lambda folder, writer, _: look(folder, writer)


def list_devices(folder: TrialFolder, _: EventWriter) -> None:
    """Write the accelerators and the versions as the folder's answer."""
    found = {
        "gpus": [_device_name(gpu) for gpu in tf.config.list_physical_devices("GPU")],
        "tpus": len(tf.config.list_physical_devices("TPU")),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
    }
    folder.answer.write_text(json.dumps(found), encoding="utf-8")


def _device_name(gpu: Any) -> str:
    return str(tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name))


TASKS: Mapping[str, Task] = {
    "train": _train,
    "train apart": _train_apart,
    "observe": observe.observe,
    "refer": observe.refer,
    "screen": screen.screen,
    "learn": _learn,
    "inspect": _alone(inspect.look),
    "devices": _alone(list_devices),
}
