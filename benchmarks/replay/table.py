"""A replay table: every run of a sweep, raw windows included, in a compact file.

One JSON document, compressed by xz. Configurations hold only what differs from the defaults;
windows are steps and microseconds, and how many epochs end in them if any does.
"""

import json
import lzma
from pathlib import Path
from typing import Any

from autotune.base import Value
from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.machine import Machine
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.setup import Subject
from autotune.search.trials import epoch_of
from autotune.shared_values import Window
from autotune.stats.windows import Epoch, steady_from
from autotune.workload import Factory, Workload, WorkloadFacts

FOLDER = Path(__file__).parent / "tables"
FORMAT = 1
"""Raised when a table of before can no longer be read."""
NAMELESS = Factory(name="none", module="none")
"""What stands for the factories of a table, which holds none."""
EXCHANGE = -1
"""The turn of a run that only exchanged gradients."""
RENAMED = {
    "private_threads": "private_threadpool_size",
    "threads_per_process": "intra_op_parallelism_threads",
}
"""Axes by the names that they had when tables were recorded."""


class Run(Value):
    """One run of the sweep."""

    configuration: Configuration
    turn: int
    """0 in the pass over all configurations, then the round of the repeats; `EXCHANGE` for a run
    of the exchange that this configuration's replicas need."""
    outcome: Outcome
    reason: str
    start_seconds: float | None
    first_step_seconds: float | None
    wall_seconds: float
    windows: tuple[Window, ...]


class Table(Value):
    """A sweep of one workload on one machine."""

    name: str
    what: str
    """What limits the workload."""
    made: str
    """The day, as an ISO date."""
    machine: Machine
    facts: WorkloadFacts
    runs: tuple[Run, ...]

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Each once, in the order of the pass."""
        return tuple(dict.fromkeys(run.configuration for run in self.trainings))

    @property
    def trainings(self) -> tuple[Run, ...]:
        """The runs of the workload itself."""
        return tuple(run for run in self.runs if run.turn != EXCHANGE)

    def epoch(self, configuration: Configuration) -> Epoch:
        """Return what was known of a configuration's epochs."""
        workload = Workload(model=NAMELESS, dataset=NAMELESS)
        return epoch_of(
            configuration, Subject(workload=workload, machine=self.machine, facts=self.facts)
        )

    def measured(self, run: Run) -> bool:
        """Whether a run was measured, or would be: what is steady may have changed since then."""
        if run.outcome is not Outcome.UNSTABLE:
            return run.outcome is Outcome.MEASURED
        return steady_from(run.windows, self.epoch(run.configuration)) is not None


def run_of(configuration: Configuration, turn: int, result: RunResult) -> Run:
    """Return what is kept of a run."""
    return Run(
        configuration=configuration,
        turn=turn,
        outcome=result.outcome,
        reason=reason_text(result.reason),
        start_seconds=result.start_seconds,
        first_step_seconds=result.first_step_seconds,
        wall_seconds=result.wall_seconds,
        windows=result.windows,
    )


def packed(run: Run) -> dict[str, Any]:
    """Return a run as short JSON."""
    return {
        "c": run.configuration.model_dump(exclude_defaults=True),
        "turn": run.turn,
        "outcome": str(run.outcome),
        "reason": run.reason,
        "start": _rounded(run.start_seconds),
        "first": _rounded(run.first_step_seconds),
        "wall": _rounded(run.wall_seconds),
        "w": [_short(window) for window in run.windows],
    }


def unpacked(row: dict[str, Any]) -> Run:
    """Return the run that was packed."""
    values = {RENAMED.get(name, name): value for name, value in row["c"].items()}
    return Run(
        configuration=Configuration.model_validate(values),
        turn=row["turn"],
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        start_seconds=row["start"],
        first_step_seconds=row["first"],
        wall_seconds=row["wall"],
        windows=tuple(Window(steps, micro / 1e6, *ends) for steps, micro, *ends in row["w"]),
    )


def write(table: Table, folder: Path = FOLDER) -> Path:
    """Write a table under its name and return the file."""
    head = table.model_dump(mode="json", exclude={"runs"})
    document = {"format": FORMAT, **head, "runs": [packed(run) for run in table.runs]}
    path = folder / f"{table.name}.json.xz"
    path.write_bytes(lzma.compress(json.dumps(document, separators=(",", ":")).encode()))
    return path


def read(path: Path) -> Table:
    """Read a table.

    Raises:
        ValueError: It has another format.
    """
    document = json.loads(lzma.decompress(path.read_bytes()))
    if document.pop("format") != FORMAT:
        raise ValueError(f"{path.name} has another format; record it again.")
    runs = tuple(unpacked(row) for row in document.pop("runs"))
    facts, known = document.pop("facts"), WorkloadFacts.model_fields
    # Facts that nothing needs any more stand in tables that were recorded before.
    kept = {name: value for name, value in facts.items() if name in known}
    return Table.model_validate({**document, "facts": kept, "runs": runs})


def _short(window: Window) -> list[int]:
    found = [window.steps, round(window.seconds * 1e6)]
    return [*found, window.ends] if window.ends else found


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
