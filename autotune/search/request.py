"""All that a search needs to know, from whichever face it comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from autotune.options import SearchOptions
from autotune.space import Space
from autotune.value import Value
from autotune.workload import Workload

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
else:
    BaseStorage = Any  # Importing optuna takes longer than all the rest of a command that fails.


def _storage(given: Any) -> Any:
    if isinstance(given, str | None) or hasattr(given, "create_new_study"):
        return given
    raise ValueError("Input should be an SQLAlchemy URL or an Optuna storage")


class TuningRequest(Value):
    """What to tune, over which space, within which bounds, and where to keep it."""

    workload: Workload
    space: str | Space = "auto"
    """A space, the name of a ready-made one, or the path of a YAML file."""
    options: SearchOptions = SearchOptions()
    out: Path
    """Folder for the files, the trials' folders, and the study's database."""
    study: str | None = None
    storage: Annotated[str | BaseStorage | None, BeforeValidator(_storage)] = None
    """SQLAlchemy URL of the study's database, or an Optuna storage; None puts a file beside the
    others."""
    resume: bool = False
    files: bool = True
    """Whether the result is written into `out`; whoever keeps it elsewhere may do without."""
