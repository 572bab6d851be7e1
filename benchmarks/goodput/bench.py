"""Compares the examples that a larger batch needs with those that were predicted.

    python -m benchmarks.goodput.bench [TRAINING ...] [--out PAGE --since TEXT]

Some twenty minutes on two cores where nothing else runs.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, stdev

from scipy.stats import t

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.events import nobody
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.search.request import Subject
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.stats.efficiency import learning_rate_factor, predicted_examples, warm_up_examples
from autotune.stats.gradients import Learning
from autotune.workload import Workload, factory_from_text
from benchmarks.goodput.train import Found, Trained
from benchmarks.goodput.workloads import TRAININGS
from benchmarks.page import in_words, page_of, parser_of
from benchmarks.share import Share

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
OWN = Configuration().per_replica_batch
BATCHES = (OWN, 128, 512, 2048)
SEEDS = 2


@dataclass(frozen=True, kw_only=True)
class Row:
    """A batch of a training: what it took, and what was predicted."""

    training: str
    batch: int
    runs: tuple[Trained, ...]
    own: tuple[Trained, ...]
    """The runs at the usual batch."""
    rates: tuple[float, ...]
    """Examples per second in each turn."""
    learning: Learning

    @property
    def needed(self) -> float | None:
        """Times the examples of the usual batch that it took; None if it did not get there."""
        mine, theirs = _examples(self.runs), _examples(self.own)
        return mine / theirs if mine and theirs else None

    @property
    def predicted(self) -> tuple[float, float, float]:
        """The same as predicted, between the ends of its interval."""
        found = predicted_examples(self.learning, self.batch)
        if found is None:
            return 0.0, math.nan, math.inf
        return found.examples.low, found.examples.value, found.examples.high

    @property
    def rate(self) -> float:
        """Examples per second."""
        return fmean(self.rates)

    @property
    def rate_error(self) -> float:
        """Half the width of its 95 % interval, as a share, by the scatter between turns."""
        count = len(self.rates)
        return float(t.ppf(0.975, count - 1)) * stdev(self.rates) / math.sqrt(count) / self.rate

    @property
    def seconds(self) -> float:
        """To the loss; infinite if it did not get there."""
        examples = _examples(self.runs)
        return examples / self.rate if examples else math.inf

    @property
    def score(self) -> float:
        """What autotune compares."""
        return self.rate / self.predicted[2]

    @property
    def holds(self) -> bool:
        """Whether the interval held what was needed; what never came was more than any number."""
        low, _, high = self.predicted
        return low <= (self.needed or math.inf) <= high

    def __str__(self) -> str:
        low, value, high = self.predicted
        needed = f"{self.needed:.2f}" if self.needed else "not reached"
        seconds = f"{self.seconds:.1f}" if self.needed else "-"
        factor = learning_rate_factor(self.learning, self.batch)
        return (
            f"| {self.training} | {self.batch} | {factor:.2g} "
            f"| {needed} | {value:.2f} ({low:.2f} to {high:.2f}) "
            f"| {self.rate:,.0f} \u00b1 {self.rate_error:.0%} | {seconds} |"
        )


def _examples(runs: Sequence[Trained]) -> float | None:
    """Return the geometric mean, None unless all got there."""
    logs = [math.log(each.examples) for each in runs if each.examples]
    return math.exp(fmean(logs)) if len(logs) == len(runs) else None


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("trainings", nargs="*", metavar="TRAINING", help="default: all five")
    asked = parser.parse_args()
    page = page_of(asked, HEAD)
    rows: list[Row] = []
    for name in asked.trainings or TRAININGS:
        machine, learning = predict(name)
        rows += compare(name, learning)
        print("\n".join(map(str, rows[-len(BATCHES) :])), flush=True)
    lines = [f"{in_words(machine)}. {SEEDS} seeds.", "", *told(rows)]
    page.show(lines)
    return 0


def predict(name: str) -> tuple[Machine, Learning]:
    """Return what autotune says of a training before it trains it."""
    file = Path(__file__).with_name("workloads.py")
    factories = {
        role: factory_from_text(f"{file}:{role}_fn", {"training": name})
        for role in ("model", "dataset")
    }
    workload = Workload.model_validate(factories)
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        machine = engine.machine()
        subject = Subject(
            workload=workload,
            facts=engine.execute(InspectionRequest(workload)),
            machine=machine,
        )
        budget = Budget(SearchOptions(budget=None), engine.now, engine.now())
        runner = Runner(
            engine, subject, Study(), folder=Path(folder) / "mine", budget=budget, observer=nobody
        )
        return machine, runner.learn(Configuration(), seed=0)


def compare(name: str, learning: Learning) -> list[Row]:
    """Return a row for each batch, trained as autotune would have it."""
    warm_up = warm_up_examples(learning)
    factors = {batch: learning_rate_factor(learning, batch) for batch in BATCHES}
    orders = [f"{batch}:{factor!r}:{warm_up}" for batch, factor in factors.items()]
    command = [sys.executable, "-m", "benchmarks.goodput.train", name, *orders]
    done = subprocess.run(
        [*command, "--seeds", str(SEEDS)], stdout=subprocess.PIPE, text=True, check=True
    )
    found = Found.from_json(done.stdout)
    runs: dict[int, list[Trained]] = defaultdict(list)
    for each in found.trained:
        runs[each.batch].append(each)
    return [
        Row(
            training=name,
            batch=each.batch,
            runs=tuple(runs[each.batch]),
            own=tuple(runs[OWN]),
            rates=each.rates,
            learning=learning,
        )
        for each in found.timed
    ]


def told(rows: Sequence[Row]) -> Iterator[str]:
    yield "| training | batch | learning rate x | needed | predicted | examples/s | time, s |"
    yield "| --- | ---: | ---: | ---: | --- | ---: | ---: |"
    yield from map(str, rows)
    yield ""
    larger = [row for row in rows if row.batch != OWN]
    off = [abs(math.log(row.predicted[1] / row.needed)) for row in larger if row.needed]
    held = Share(count=sum(row.holds for row in larger), of=len(larger))
    yield f"- Predicted is off by a factor of {math.exp(median(off)):.2f} in the median, at most "
    yield f"  {math.exp(max(off)):.2f} (n = {len(off)}; goal: none)."
    yield f"- The interval held {held} (goal: 90 to 97 %)."
    yield ""
    yield from _regrets(rows)


def _regrets(rows: Sequence[Row]) -> Iterator[str]:
    columns = "predicted: batch | its time over the best | keeping 32 | the fastest batch"
    yield f"| training | {columns} |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    by_training: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        by_training[row.training][row.batch] = row
    regrets = [*map(_Regret, by_training.values())]
    yield from map(str, regrets)
    yield ""
    losses = [each.of(each.predicted) for each in regrets]
    worse = [each.predicted.seconds / each.own.seconds - 1 for each in regrets]
    yield f"- As predicted: median regret {median(losses):.0%} (goal: under 10 %), worst "
    yield f"  {max(losses):.0%} (goal: under 30 %), at most {max(worse):.0%} slower than "
    yield "  keeping 32 (goal: 5 %)."


class _Regret:
    """Times to the loss of one training, by batch, against the shortest."""

    def __init__(self, rows: Mapping[int, Row]) -> None:
        self._rows = rows
        self.own = rows[OWN]
        self.predicted = max(rows.values(), key=lambda row: row.score)
        self.fastest = max(rows.values(), key=lambda row: row.rate)

    def of(self, row: Row) -> float:
        """Return by what share a batch takes longer than the best one."""
        return row.seconds / min(each.seconds for each in self._rows.values()) - 1

    def __str__(self) -> str:
        name, mine = self.own.training, self.predicted
        chosen = f"{mine.batch} | {self.of(mine):.0%}"
        return f"| {name} | {chosen} | {self.of(self.own):.0%} | {self.of(self.fastest):.0%} |"


if __name__ == "__main__":
    sys.exit(main())
