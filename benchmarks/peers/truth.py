"""How fast the configurations really are that any contestant held for the best at some time.

Fresh runs through autotune's engine, in turns and in random order: only these are compared.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from contestants import CONTESTANTS
from job import Job, read_log
from progress import best_alone, incumbents

from autotune.config import Configuration
from autotune.run.engine import Engine, Limits, Outcome, TrialRequest
from autotune.run.resolve import reserved_engine
from autotune.search.runner import trial_of
from autotune.search.stopping import MeasureWatch
from autotune.strategies import strategy
from autotune.trial import Stage
from autotune.value import Value

TRUTH = "truth.jsonl"

Rates = Mapping[Configuration, Mapping[int, float]]
"""Examples per second of each configuration, by turn."""


class Run(Value):
    """A line of the file."""

    turn: int
    configuration: Configuration
    rate: float | None
    outcome: Outcome


def arms(folder: Path, known: Sequence[Configuration]) -> list[Configuration]:
    """Return what has to be measured.

    Args:
        folder: Of the workload.
        known: Configurations that are known to be good from elsewhere.
    """
    return list(dict.fromkeys([*known, *_held(folder)]))


def _held(folder: Path) -> Iterator[Configuration]:
    for name in CONTESTANTS:
        for _, configuration in incumbents(read_log(folder / name)):
            yield configuration
    alone = best_alone(read_log(folder / "autotune"))
    if alone is not None:
        yield alone


def measure(job: Job, found: Sequence[Configuration], turns: int) -> None:
    """Measure all in turns and write each run down as it ends."""
    shuffle = random.Random(job.seed)  # noqa: S311 - an order of runs
    with (
        reserved_engine(None, "a comparison with other tuners", print) as engine,
        (job.folder / TRUTH).open("a", encoding="utf-8") as file,
    ):
        for turn in range(turns):
            for number, configuration in enumerate(shuffle.sample(found, len(found))):
                folder = job.folder / "truth" / f"{turn}-{number:02}"
                run = _run(engine, job, configuration, folder)
                file.write(run.model_copy(update={"turn": turn}).model_dump_json() + "\n")
                file.flush()


def read(folder: Path) -> Rates:
    """Return what was measured, as far as it went."""
    rates: dict[Configuration, dict[int, float]] = defaultdict(dict)
    path = folder / TRUTH
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for run in map(Run.model_validate_json, lines):
        if run.rate is not None:
            rates[run.configuration][run.turn] = run.rate
    return rates


def _run(engine: Engine, job: Job, configuration: Configuration, folder: Path) -> Run:
    result = engine.run(
        TrialRequest(
            configuration=configuration,
            script=job.program(configuration),
            workload=job.workload,
            roles=strategy(configuration.strategy).roles(configuration, job.machine),
            folder=folder,
            limits=Limits(),
        ),
        MeasureWatch(),
    )
    trial = trial_of(0, Stage.FINAL, configuration, result, None)
    rate = trial.examples_per_second if trial.measured else None
    return Run(turn=0, configuration=configuration, rate=rate, outcome=result.outcome)
