"""What a contestant is given, and the log that it keeps."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from autotune.base import Value
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.space import Space
from autotune.workload import Workload, WorkloadFacts
from benchmarks.parts import add_rows, read_rows

LOG = "log.jsonl"
JOB = "job.json"


class Entry(Value):
    """A line of a contestant's log."""

    seconds: float
    """Since the contestant was started."""
    what: Literal["trial", "recommendation"] = "trial"
    configuration: Configuration
    rate: float | None = None
    """Examples per second, as the contestant measured them; None if the trial gave none."""


class Job(Value):
    """One search to be made: the same for all contestants but for `began` and `folder`."""

    file: str
    """Of the factories, relative to the project."""
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    space: Space
    configurations: tuple[Configuration, ...]
    """All of the space that can run here."""
    seconds: float
    """Wall time for everything, imports included."""
    seed: int = 0
    began: float = 0.0
    """On the monotonic clock, which all processes of a machine share."""
    folder: Path = Path()
    """Of this contestant."""

    @classmethod
    def load(cls, path: Path | str) -> Self:
        return cls.model_validate_json(Path(path).read_text(encoding="utf-8"))

    def save(self) -> Path:
        """Write it into its folder and return the file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / JOB
        path.write_text(self.model_dump_json(), encoding="utf-8")
        return path

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self.began + self.seconds - time.monotonic()

    def log(self, configuration: Configuration, rate: float | None) -> None:
        """Keep a trial."""
        seconds = time.monotonic() - self.began
        add_rows(self.folder / LOG, Entry(seconds=seconds, configuration=configuration, rate=rate))

    def recommend(self, configuration: Configuration) -> None:
        """Keep a recommendation, where it is not simply the fastest trial."""
        seconds = time.monotonic() - self.began
        entry = Entry(seconds=seconds, what="recommendation", configuration=configuration)
        add_rows(self.folder / LOG, entry)


def read_log(folder: Path) -> list[Entry]:
    """Return the entries of a contestant, oldest first; none if it has not run."""
    return read_rows(folder / LOG, Entry)


def recommended(log: Sequence[Entry]) -> Configuration | None:
    """Return the last recommendation, or the configuration of the fastest trial."""
    given = [each.configuration for each in log if each.what == "recommendation"]
    shown = [(each.rate, each.configuration) for each in log if each.rate]
    return given[-1] if given else max(shown, key=lambda each: each[0])[1] if shown else None
