"""The user's own modules, brought to hosts that do not have them in the same place."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from autotune.errors import UsageError
from autotune.workload import Workload

MOST_FILES = 2000
MOST_BYTES = 16 * 2**20
_FOREIGN = ("site-packages", "node_modules", "__pycache__")


class Code(NamedTuple):
    """The Python files that a workload may import, as they are where the tuner runs."""

    directory: str
    """The tuner's working folder."""
    files: Mapping[str, bytes]
    """By their absolute path."""
    too_many: str = ""
    """The folder that holds more than can be brought; empty where everything is here."""


def code_of(workload: Workload) -> Code:
    """Return what a workload may import from folders that are no installed packages."""
    files: dict[str, bytes] = {}
    for root in _roots(workload):
        for path in _modules(root):
            files[str(path)] = path.read_bytes()
            if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
                return Code(str(Path.cwd()), {}, too_many=str(root))
    return Code(str(Path.cwd()), files)


def install(code: Code, scratch: Path) -> Path:
    """Return the folder to work in on this host: the same one, or a copy.

    The same one where all files stand there as they do where the tuner runs. In a copy they have
    their paths below a folder of its own, so that paths from one to the other hold.
    """
    here = Path(code.directory)
    if here.is_dir() and all(_holds(Path(path), content) for path, content in code.files.items()):
        return here
    if code.too_many:
        raise UsageError(
            f"There is no folder {here} on this machine, and {code.too_many} holds too many "
            f"Python files to be copied here (at most {MOST_FILES}, {MOST_BYTES >> 20} MiB).",
            "Put the code in the same place on all machines, or install it there as a package.",
        )
    for path, content in code.files.items():
        place = scratch / Path(path).relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    folder = scratch / here.relative_to("/")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _roots(workload: Workload) -> list[Path]:
    if workload.script:
        return [Path(workload.script.path).resolve().parent]
    factories = workload.factories.values()
    roots = [each.root for each in factories if each.root is not None]
    roots += [root for each in factories if each.source for _, root in each.source.roots]
    return [*dict.fromkeys(Path(root).resolve() for root in roots)]


def _modules(folder: Path) -> Iterator[Path]:
    """Give the Python files below a folder, without those of environments in it."""
    for entry in sorted(folder.iterdir()):
        if entry.suffix in (".py", ".ipynb") and entry.is_file():
            yield entry
        elif entry.is_dir() and not entry.is_symlink():
            foreign = entry.name.startswith(".") or entry.name in _FOREIGN
            if not foreign and not (entry / "pyvenv.cfg").exists():
                yield from _modules(entry)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
