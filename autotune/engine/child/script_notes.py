"""Notes what a script does on the way to its `fit`, by its lines."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from ipaddress import ip_address
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

WORKING = ("chief", "worker")
"""Tasks of a cluster that train."""
_UPDATES = (
    (keras.Model, "train_on_batch"),
    (keras.Optimizer, "apply_gradients"),
    (keras.Optimizer, "apply"),
)
Patch = tuple[Any, str, Callable[[Any], Any]]
"""Whose attribute, its name, and what makes of it the one that takes its place."""


@contextmanager
def patched(*patches: Patch) -> Iterator[None]:
    own = [(of, name, vars(of).get(name)) for of, name, _ in patches]
    for of, name, make in patches:
        setattr(of, name, make(getattr(of, name)))
    try:
        yield
    finally:
        for of, name, value in own:
            if value is None:  # It was inherited.
                delattr(of, name)
            else:
                setattr(of, name, value)


def before(note: Callable[..., None]) -> Callable[[Any], Any]:
    """Return what has a function call another one first, with the same arguments."""

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def noted(*arguments: Any, **options: Any) -> Any:
            note(*arguments, **options)
            return function(*arguments, **options)

        return noted

    return make


def line_here(program: ModuleType) -> list[int]:
    """Return the line of the script that is under way, if one is."""
    lines: list[int] = program.script.lines_of(sys._getframe())  # noqa: SLF001 - the callers tell the line
    return lines[:1]


class ScriptNotes:
    def __init__(self, program: ModuleType) -> None:
        self._program = program
        self.strategies: list[int] = []
        """Lines that make strategies of TensorFlow's."""
        self.own_strategies: list[dict[str, Any]] = []
        """What is known of each strategy that the script has a stand-in for."""
        self.eager: list[int] = []
        """Lines that ask for eager execution, of a model or of everything."""
        self.network: list[int] = []
        """Lines that are under way while Python connects to another machine."""

    @contextmanager
    def taken(self, update: Callable[[str], None]) -> Iterator[None]:
        """Take notes meanwhile; each update of weights calls a function with its method's name."""
        eager = before(self._eagerness)
        with (
            self._connections_heard(),
            patched(
                (tf.distribute.Strategy, "__init__", before(self._strategy)),
                (self._program.script.OwnStrategy, "__init__", self._own_strategy),
                (tf.config, "run_functions_eagerly", eager),
                (keras.Model, "run_eagerly", lambda p: property(p.fget, eager(p.fset))),
                *((of, name, before(lambda *_, n=name, **__: update(n))) for of, name in _UPDATES),
            ),
        ):
            yield

    def _strategy(self, strategy: Any, *_: Any, **__: Any) -> None:
        # TensorFlow makes the one that stands for none by itself.
        if "Default" not in type(strategy).__name__:
            self.strategies += line_here(self._program)

    def _eagerness(self, *arguments: Any, **options: Any) -> None:
        if [*arguments, *options.values()][-1]:
            self.eager += line_here(self._program)

    def _own_strategy(self, begin: Callable[..., None]) -> Callable[..., None]:
        def noted(own: Any, *arguments: Any, **options: Any) -> None:
            kind = type(own).__name__
            title = "" if type(own) is self._program.script.OwnStrategy else kind
            workers = workers_of_cluster() if title == "MultiWorkerMirroredStrategy" else 1
            replicas = workers * _replicas(title, [*arguments, *options.values()])
            begin(own, *arguments, **options)
            own.num_replicas_in_sync = replicas
            found = {"title": title, "replicas": replicas, "workers": workers}
            line = next(iter(line_here(self._program)), None)
            self.own_strategies.append({**found, "line": line})

        return noted

    @contextmanager
    def _connections_heard(self) -> Iterator[None]:
        """Hear of Python's connections; what a library of C connects to escapes this."""
        mine, active = threading.get_ident(), True

        def hear(event: str, arguments: tuple[object, ...]) -> None:
            if active and event == "socket.connect" and _is_elsewhere(arguments[1]):
                # Many a download has threads of its own, none of which is in the script.
                frame = sys._current_frames()[mine]  # noqa: SLF001 - no other function tells
                self.network.extend(self._program.script.lines_of(frame)[:1])

        sys.addaudithook(hear)
        try:
            yield
        finally:
            active = False


def _replicas(title: str, arguments: Sequence[Any]) -> int:
    """Return the replicas of a worker: one for each device that is named, or for each GPU."""
    if title in ("", "OneDeviceStrategy"):
        return 1
    named = [each for each in arguments if isinstance(each, list | tuple) and each]
    return len(named[0]) if named else max(len(tf.config.list_physical_devices("GPU")), 1)


def workers_of_cluster() -> int:
    """Return how many processes TF_CONFIG names that train."""
    try:
        cluster: Mapping[str, Any] = json.loads(os.environ.get("TF_CONFIG", ""))["cluster"]
        return sum(len(cluster.get(each, ())) for each in WORKING) or 1
    except (ValueError, KeyError, TypeError):
        return 1


def _is_elsewhere(address: object) -> bool:
    if not isinstance(address, tuple):  # The path of a socket on this machine.
        return False
    host = str(address[0])
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
