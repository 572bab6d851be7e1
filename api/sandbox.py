"""A sandbox for the search of an uploaded program, by bubblewrap.

The search and all its processes see the system's programs, the worker's Python, the folders that
the operator names, and their own two; neither the service's data, keys and settings nor the files
of other jobs exist there. They have a network of their own without a way out, process numbers of
their own, and end with the worker, however that ends.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil

from autotune.api.settings import Settings
from autotune.engine.lock import shared_file

CODE = "/job/code"
"""Where the program lies in a sandbox, with nothing beside it."""
HOME = "/tmp"  # noqa: S108 - a folder of its own, in memory
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
_OF_ETC = ("alternatives", "ld.so.cache", "localtime", "nsswitch.conf", "OpenCL")
"""The files of /etc, which may hold secrets, that programs need."""
_PASSED = ("LANG", "LC_ALL", "PATH", "TZ", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "XLA_FLAGS")
_FAMILIES = ("CUDA_", "NVIDIA_", "NCCL_", "TF_")
"""Variables of the worker's that a program gets, and beginnings of their names."""
_PARTS = ("autotune", "autotune.api", "autotune.search_spaces")
_GPUS = ("nvidia*", "dri", "kfd")
_SECONDS = 20.0
_TRIED = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); import autotune.api.isolation"


def refusal(settings: Settings) -> str | None:
    """Return why this host runs no uploaded code, in a few words; None where it can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed"
    command = [*_command(settings), "--", sys.executable, "-c", _TRIED, json.dumps(sys.path)]
    try:
        done = subprocess.run(
            command, env=variables({}), capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as exc:
        return f"bwrap failed ({type(exc).__name__})"
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
    return f"bwrap failed ({said[-1][:200]})"


def command(settings: Settings, out: Path, code: Path) -> list[str]:
    """Return the beginning of a command that runs in a sandbox, in which `out` can be written."""
    lock = shared_file()  # One search at a time, in a sandbox or not.
    # It can be taken where it is only read, and grows no further there.
    own = [*_bound("--bind", [out]), *_bound("--ro-bind", [lock] if lock else [])]
    return [*_command(settings), *own, "--bind", str(code), CODE, "--chdir", CODE, "--"]


def variables(more: dict[str, str]) -> dict[str, str]:
    """Return the environment of a sandbox: nothing of the worker's that may hold a secret."""
    passed = {
        name: text
        for name, text in os.environ.items()
        if name in _PASSED or name.startswith(_FAMILIES)
    }
    return {**passed, "HOME": HOME, "TMPDIR": HOME, "USER": "job", "LOGNAME": "job", **more}


def use_of(process: psutil.Process, written: Path) -> tuple[int, int, int]:
    """Return the bytes of memory, the processes and the written bytes of a sandbox.

    `process` is its first one. Memory that its processes share is counted once.
    """
    memory = count = 0
    for each in process.children(recursive=True):
        try:
            memory += each.memory_full_info().pss
        except psutil.Error:
            continue
        count += 1
    return memory, count, _size(written)


def _size(folder: Path) -> int:
    total, folders = 0, [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for each in found:
                    if each.is_dir(follow_symlinks=False):
                        folders.append(each.path)
                    else:
                        total += each.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return total


def _command(settings: Settings) -> list[str]:
    given = [
        *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"),
        *("--cap-drop", "ALL"),
        *("--ro-bind", "/usr", "/usr"),
    ]
    for each in map(Path, _SYSTEM):
        if each.is_symlink():
            given += ["--symlink", str(each.readlink()), str(each)]
        elif each.is_dir():
            given += ["--ro-bind", str(each), str(each)]
    given += _bound("--ro-bind-try", [Path("/etc") / each for each in _OF_ETC])
    held = min(settings.code.disk, settings.code.most_memory // 4)
    given += ["--proc", "/proc", "--dev", "/dev", "--size", str(held), "--tmpfs", HOME]
    gpus = [each for name in _GPUS for each in Path("/dev").glob(name)]
    given += _bound("--dev-bind", gpus)
    given += _bound("--ro-bind-try", [Path("/sys")] if gpus else [])
    read = [*_python(settings), *settings.code.folders]
    given += _bound("--ro-bind", read)
    return [*given, *_masks(settings, read)]


def _bound(how: str, paths: Iterable[Path]) -> list[str]:
    return [text for each in paths for text in (how, str(each), str(each))]


def _python(settings: Settings) -> Iterator[Path]:
    """Yield where Python, its packages and autotune lie; a working folder is none of these."""
    seen = set[Path]()
    apart = {Path.cwd(), settings.root.absolute()}
    parts = filter(None, map(find_spec, _PARTS))
    own = [Path(p) for each in parts for p in each.submodule_search_locations or ()]
    prefixes = map(Path, (sys.base_prefix, sys.prefix, sys.base_exec_prefix, sys.exec_prefix))
    given = (*prefixes, *(Path(p).absolute() for p in sys.path), *own)
    # A link to what lies elsewhere is of no use without that.
    for each in (place for path in given for place in (path, path.resolve())):
        around = any(each.is_relative_to(other) for other in (*seen, Path("/usr")))
        if each.is_dir() and not around and each not in apart:
            seen.add(each)
            yield each


def _masks(settings: Settings, read: Iterable[Path]) -> Iterator[str]:
    """Yield what hides the service's own folder and settings, where they lie within the others."""
    around = [each.resolve() for each in read]
    data = settings.data.resolve()
    if any(data.is_relative_to(each) for each in around):
        yield from ("--tmpfs", str(data))
    file = settings.file and settings.file.resolve()
    if file and any(file.is_relative_to(each) for each in around):
        yield from ("--ro-bind", os.devnull, str(file))
