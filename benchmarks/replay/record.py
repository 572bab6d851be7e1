"""Makes the replay tables of this machine: full sweeps of some workloads, with repeats.

    python -m benchmarks.replay.record [--unseen] [WORKLOAD ...]        (make replay-tables)

With `--unseen` only of those that are held out.

Every configuration of a workload's space is run once, in random order; then the best tenth, the
best three of one device and of several, and the default are run again, in turns, each round in
another order. Who is among the best is asked before every round, by the mean of all runs so far,
until each of them has `RUNS` runs: the best of single runs is the luckiest, and those that it beat
by luck get their turn. What was recorded before is kept, so a recording that was stopped goes on.
It takes five to ten minutes for each workload, and twenty for one of two hundred configurations, on
two cores that should have nothing else to do.
"""

import argparse
import datetime as dt
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.resolve import reserved_engine
from autotune.engine.tasks import InspectionRequest
from autotune.reason import Outcome
from autotune.search.runner import request_of
from autotune.search.setup import Subject, nearest
from autotune.search.stopping import MeasureWatch
from autotune.search.trials import epoch_of
from autotune.space import candidates
from autotune.stats.windows import read, steady_from
from benchmarks.replay.characters import CHARACTERS, Character, character
from benchmarks.replay.table import EXCHANGE, Run, Table, packed, run_of, unpacked, write

RUNS = 5
BEST = 3
DRAFTS = Path("autotune-out/replay")


def main() -> None:
    """Record the tables of some workloads, or of all of a kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--unseen", action="store_true", help="those that are held out")
    asked = parser.parse_args()
    kind = [each for each in CHARACTERS if each.unseen is asked.unseen]
    for each in [character(name) for name in asked.names] or kind:
        with reserved_engine(None, "a recording of replay tables", print) as engine:
            table = Recording(each, engine).make()
        print(f"{write(table)}: {len(table.runs)} runs", flush=True)


class Recording:
    """The sweep of one workload."""

    def __init__(self, character: Character, engine: Engine) -> None:
        self._character = character
        self._engine = engine
        workload = character.workload
        self._subject = Subject(
            workload=workload,
            machine=engine.machine(),
            facts=engine.execute(InspectionRequest(workload)),
        )
        subject = self._subject
        self._found = candidates(
            character.space, subject.machine, subject.facts, character.constraints
        )
        self._draft = DRAFTS / f"{character.name}.jsonl"
        self._draft.parent.mkdir(parents=True, exist_ok=True)
        self._runs = [*_read(self._draft)]

    def make(self) -> Table:
        """Run what is missing and return the table."""
        shuffle = random.Random(0)  # noqa: S311 - an order of runs
        self._turn(0, shuffle.sample(self._found.configurations, len(self._found.configurations)))
        turn = max(run.turn for run in self._runs)
        while again := [each for each in self._promising() if self._times(each) < RUNS]:
            turn += 1
            self._turn(turn, shuffle.sample(again, len(again)))
        return Table(
            name=self._character.name,
            what=self._character.what,
            made=dt.datetime.now(dt.UTC).date().isoformat(),
            machine=self._subject.machine,
            facts=self._subject.facts,
            runs=tuple(self._runs),
        )

    def _turn(self, turn: int, wanted: Sequence[Configuration]) -> None:
        known = {run.configuration for run in self._runs if run.turn == turn}
        with tempfile.TemporaryDirectory() as folder, self._draft.open("a") as draft:
            for number, configuration in enumerate(wanted):
                if configuration not in known:
                    run = self._run(configuration, turn, Path(folder) / str(number))
                    self._runs.append(run)
                    draft.write(json.dumps(packed(run)) + "\n")
                    draft.flush()

    def _run(self, configuration: Configuration, turn: int, folder: Path) -> Run:
        request = request_of(configuration, self._subject, folder)
        watch = MeasureWatch(epoch=epoch_of(configuration, self._subject))
        return run_of(configuration, turn, self._engine.execute(request, watch))

    def _times(self, configuration: Configuration) -> int:
        runs = [run for run in self._runs if run.turn != EXCHANGE]
        return sum(run.configuration == configuration for run in runs)

    def _promising(self) -> list[Configuration]:
        rates: dict[Configuration, list[float]] = {}
        for run in self._runs:
            if run.turn != EXCHANGE and run.outcome is Outcome.MEASURED:
                rates.setdefault(run.configuration, []).append(self._rate(run))
        ranked = sorted(rates, key=lambda configuration: -fmean(rates[configuration]))
        several = [c for c in ranked if c.distributed][:BEST]
        alone = [c for c in ranked if not c.distributed][:BEST]
        tenth = ranked[: -(-len(ranked) // 10)]
        default = nearest(Configuration(), self._found.one_device)
        return list(dict.fromkeys([*tenth, *alone, *several, default]))

    def _rate(self, run: Run) -> float:
        epoch = epoch_of(run.configuration, self._subject)
        reading = read(run.windows[steady_from(run.windows, epoch) :], epoch)
        return reading.steps_per_second * run.configuration.global_batch


def _read(draft: Path) -> Iterator[Run]:
    if draft.exists():
        for line in draft.read_text().splitlines():
            yield unpacked(json.loads(line))


if __name__ == "__main__":
    main()
