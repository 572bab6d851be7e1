"""How fast the configurations really are that any contestant held for the best at some time.

Fresh runs through autotune's engine, in turns and in random order: only these are compared.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.value import Value
from benchmarks.parts import add_rows, read_rows
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.job import Job, read_log
from benchmarks.peers.on_engine import on_engine
from benchmarks.peers.progress import best_alone, incumbents

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
    """Return what has to be measured: what earlier seeds found to be the best, and this one."""
    return list(dict.fromkeys([*known, *_held(folder)]))


def _held(folder: Path) -> Iterator[Configuration]:
    for name in CONTESTANTS:
        for _, configuration in incumbents(read_log(folder / name)):
            yield configuration
    alone = best_alone(read_log(folder / "autotune"))
    if alone is not None:
        yield alone


def measure(job: Job, found: Sequence[Configuration], turns: int) -> None:
    """Measure all in turns and write each run down as it ends; what was measured before stays."""
    shuffle = random.Random(job.seed)  # noqa: S311 - an order of runs
    path = job.folder / TRUTH
    done = {(run.turn, run.configuration) for run in read_rows(path, Run)}
    with on_engine(job) as meter:
        for turn in range(turns):
            for number, configuration in enumerate(shuffle.sample(found, len(found))):
                if (turn, configuration) in done:
                    continue
                trial = meter.trial(configuration, job.folder / "truth" / f"{turn}-{number:02}")
                run = Run(
                    turn=turn,
                    configuration=configuration,
                    rate=trial.examples_per_second if trial.measured else None,
                    outcome=trial.outcome,
                )
                add_rows(path, run)


def read(folder: Path) -> Rates:
    """Return what was measured, as far as it went."""
    rates: dict[Configuration, dict[int, float]] = defaultdict(dict)
    for run in read_rows(folder / TRUTH, Run):
        if run.rate is not None:
            rates[run.configuration][run.turn] = run.rate
    return rates
