"""What a contestant is given, and the log that it keeps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal, Self

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.program import render
from autotune.space import Space
from autotune.value import Value
from autotune.workload import Workload, WorkloadFacts
from benchmarks.parts import add_rows, read_rows

ROOT = Path(__file__).parents[2]
"""The factories of the examples are named relative to it."""
LOG = "log.jsonl"
JOB = "job.json"


class Entry(Value):
    """A line of a contestant's log."""

    seconds: float
    """Since the contestant was started."""
    what: Literal["trial", "recommendation"]
    configuration: Configuration
    number: int = 0
    """Of the trial; a later entry of the same trial replaces an earlier one."""
    rate: float | None = None
    """Examples per second, as the contestant measured them; None if the trial gave none."""
    note: str = ""


class Job(Value):
    """One search to be made: the same for all contestants but for `began` and `folder`."""

    name: str
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

    @property
    def next_number(self) -> int:
        """For a trial, if a configuration may have several."""
        return len(read_log(self.folder))

    def program(self, configuration: Configuration) -> str:
        """Return the text of the training program."""
        return render(configuration, self.workload, self.facts, self.machine).train

    def trial(
        self, configuration: Configuration, rate: float | None, number: int | None = None
    ) -> None:
        """Log a trial. Without a number of its own it has its configuration's place in the list."""
        place = self.configurations.index(configuration) if number is None else number
        self._log(what="trial", configuration=configuration, number=place, rate=rate)

    def recommend(self, configuration: Configuration, note: str = "") -> None:
        """Log what is recommended, where that is not simply the fastest trial."""
        self._log(what="recommendation", configuration=configuration, note=note)

    def _log(self, **fields: object) -> None:
        entry = Entry.model_validate({"seconds": time.monotonic() - self.began, **fields})
        add_rows(self.folder / LOG, entry)


def read_log(folder: Path) -> list[Entry]:
    """Return the entries of a contestant, oldest first; none if it has not run."""
    return read_rows(folder / LOG, Entry)
