"""What surrounds a script that is run for its `fit`: a copy of its folder, and notes on its lines.

The copy of the working folder lets a script that is timed read its files and change none.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from autotune.engine.events import SCRATCH

LARGEST_COPY = 2**20
"""Bytes. A larger file is linked, and may only be read."""
MOST_BYTES = 32 * 2**20
"""That are copied in all."""
MOST_ENTRIES = 2000
MOST_BESIDE = 500
"""Folders beyond these are linked whole, of the working folder and of what lies beside it."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "os.truncate", "os.mkdir")


class MayNotChange(PermissionError):
    """A script would change a file of the original."""


class Copy(NamedTuple):
    path: Path
    original: Path

    def counterpart(self, path: Path) -> Path:
        """Return where something of the original lies in the copy; what is elsewhere stays."""
        if not path.is_relative_to(self.original):
            return path
        return self.path / path.relative_to(self.original)


@contextmanager
def working_copy(*kept: Path) -> Iterator[Copy]:
    """Work in a copy of the working folder, and let Python change nothing in the original.

    What lies beside the original has a copy too, because scripts read `../data`. What a library of
    C writes by an absolute path, or into a large file, escapes this.
    """
    original = Path.cwd().resolve()
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH)).resolve()
    copy = scratch / (original.name or "work")
    copy.mkdir()
    _fill(copy, original, MOST_ENTRIES)
    # Beside a folder of the root, such as the /app of a container, lies the system.
    beside = 0 if original.parent == Path(original.anchor) else MOST_BESIDE
    _fill(scratch, original.parent, beside, without=original)
    guard = Guard(original, (scratch, Path(tempfile.gettempdir()).resolve(), *kept))
    sys.addaudithook(guard.hear)
    os.chdir(copy)
    try:
        yield Copy(copy, original)
    finally:
        guard.active = False
        os.chdir(original)


class Guard:
    """Refuses changes in a folder. Python cannot be made to forget it, so it has a switch."""

    def __init__(self, folder: Path, kept: tuple[Path, ...]) -> None:
        self.active = True
        self._folder = f"{folder}/"
        self._kept = tuple(f"{each}/" for each in kept)

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or (event != "open" and event not in _CHANGES):
            return
        path = arguments[0]
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return
        if isinstance(path, str | bytes | os.PathLike) and self._guards(os.fsdecode(path)):
            raise MayNotChange(
                f"While it is timed, a script may not change {os.fsdecode(path)}; what it writes "
                "relative to its working folder goes into a copy"
            )

    def _guards(self, path: str) -> bool:
        real, scratch = os.path.realpath(path), self._kept[0]
        inside = real.startswith(self._folder) and not real.startswith(self._kept)
        # As it is written, it lies beside the copy.
        written = os.path.abspath(path)  # noqa: PTH100 - which follows no link
        linked = written.startswith(scratch) and not real.startswith(scratch)
        return (inside or linked) and "/__pycache__/" not in real


def _fill(copy: Path, original: Path, most: int, *, without: Path | None = None) -> None:
    """Copy small files and link large ones, the nearest first; folders beyond `most` entries whole.

    `without` is a folder that has its copy already; of the others, which a script may never look
    at, one that holds more than `most` is linked whole.
    """
    folders, entries, copied = deque([original]), 0, 0
    while folders:
        folder = folders.popleft()
        for entry in _listed(folder):
            if Path(entry.path) == without:
                continue
            place, entries = copy / Path(entry.path).relative_to(original), entries + 1
            linked = entries > most or entry.name.startswith((".", "__pycache__"))
            linked = linked or (without is not None and _holds_more(entry, most))
            if entry.is_dir(follow_symlinks=False) and not linked:
                if not copy.is_relative_to(entry.path):
                    place.mkdir()
                    folders.append(Path(entry.path))
            elif _is_small(entry) and copied < MOST_BYTES:
                copied += entry.stat().st_size
                shutil.copy2(entry.path, place)
            else:
                place.symlink_to(entry.path)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:  # It may not be ours to read.
        return sorted(found, key=lambda each: each.name)
    return []


def _holds_more(entry: os.DirEntry[str], count: int) -> bool:
    # It may be no folder, or not ours to read.
    with suppress(OSError), os.scandir(entry.path) as found:
        return any(True for _ in islice(found, count, None))
    return False


def _is_small(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() and entry.stat().st_size <= LARGEST_COPY
    except OSError:
        return False


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
