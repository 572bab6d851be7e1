"""All that a search needs to know, from whichever face it comes."""

from __future__ import annotations

from pathlib import Path

from autotune.search.options import Options
from autotune.space import Space
from autotune.value import Value
from autotune.workload import Workload


class TuningRequest(Value):
    """What to tune, over which space, within which bounds, and where to keep it."""

    workload: Workload
    space: str | Space = "auto"
    """A space, the name of a ready-made one, or the path of a YAML file."""
    options: Options = Options()
    out: Path
    """Folder for the files, the trials' folders, and the study's database."""
    study: str | None = None
    storage: str | None = None
    """SQLAlchemy URL of the study's database; None puts it beside the other files."""
    resume: bool = False
    files: bool = True
    """Whether the result is written into `out`; whoever keeps it elsewhere may do without."""
