"""What is kept of one search."""

from __future__ import annotations

import math
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from pydantic import Field

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.measure import Noise
from autotune.run.engine import Outcome
from autotune.trial import Stage, Trial
from autotune.value import Value
from autotune.version import VERSION


class Measured(Value):
    """One trial of a past search that showed a speed."""

    session: str
    """The search; absolute rates of different ones are not comparable, because machines drift."""
    configuration: Configuration
    examples_per_second: float = Field(gt=0, allow_inf_nan=False)
    stage: Stage
    pruned: bool = False
    """Stopped early, so that its rate is what it had shown by then."""


class Session(Value):
    """One search that has ended."""

    id: str
    ended: float
    """Unix time in seconds."""
    machine: str
    """`Machine.fingerprint`."""
    workload: str
    """`Workload.fingerprint`."""
    autotune: str
    """Version; the next two as well."""
    tensorflow: str
    keras: str
    noise: Noise | None
    """Between-run noise, from repeats in this search alone; None without any."""
    measured: tuple[Measured, ...]


def session_of(machine: Machine, workload: str, trials: Iterable[Trial]) -> Session:
    """Return the record of a search that ends now.

    Args:
        machine: What it ran on.
        workload: Fingerprint of what was trained.
        trials: Those that it made itself, not those of a study that it resumed.
    """
    name = uuid.uuid4().hex
    measured = tuple(each for trial in trials for each in _measured(name, trial))
    return Session(
        id=name,
        ended=time.time(),
        machine=machine.fingerprint,
        workload=workload,
        autotune=VERSION,
        tensorflow=machine.tensorflow,
        keras=machine.keras,
        noise=scatter(measured),
        measured=measured,
    )


def scatter(measured: Sequence[Measured]) -> Noise | None:
    """Return how much repeats of one configuration differ; None where nothing was repeated."""
    logs: dict[Configuration, list[float]] = defaultdict(list)
    for each in measured:
        if not each.pruned:
            logs[each.configuration].append(math.log(each.examples_per_second))
    degrees = sum(len(group) - 1 for group in logs.values())
    if not degrees:
        return None
    squares = sum((each - fmean(group)) ** 2 for group in logs.values() for each in group)
    return Noise(sd=math.sqrt(squares / degrees), degrees=degrees)


def _measured(session: str, trial: Trial) -> list[Measured]:
    rate = trial.examples_per_second
    if trial.outcome not in (Outcome.MEASURED, Outcome.PRUNED) or not rate:
        return []
    return [
        Measured(
            session=session,
            configuration=trial.configuration,
            examples_per_second=rate,
            stage=trial.stage,
            pruned=trial.outcome is Outcome.PRUNED,
        )
    ]
