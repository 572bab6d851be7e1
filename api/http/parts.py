"""The programs of a recommendation, each of which is to be had alone as a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from autotune.script.cluster import JOBSET, SLURM


class Part(StrEnum):
    """Which of the programs."""

    TRAIN = "train"
    """It trains."""
    LAUNCH = "launch"
    """It starts the processes of a gang on one machine."""
    SLURM = "slurm"
    """It starts them on several machines, under Slurm."""
    JOBSET = "jobset"
    """It starts them on several machines, as a JobSet of Kubernetes."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return _FILES[self][0]

    @property
    def media_type(self) -> str:
        """What the file is."""
        return _FILES[self][1]


_FILES: Final = {
    Part.TRAIN: ("train.py", "text/x-python"),
    Part.LAUNCH: ("launch.py", "text/x-python"),
    Part.SLURM: (SLURM, "text/x-shellscript"),
    Part.JOBSET: (JOBSET, "application/yaml"),
}
