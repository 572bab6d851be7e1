"""What the default search recommends on new workloads, as a share of the best that is known.

    python -m benchmarks.default_space.bench [WORKLOAD ...] [--longer 300] [--rounds 4]
        [--minutes M] [--out PAGE --since TEXT]

A row is kept when a workload is done, some twenty minutes; what has its row at this commit is not
run again. Run it where nothing else runs.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean

from autotune import Result, SearchOptions, autotune
from autotune.config import Configuration
from autotune.objective import MAX_THROUGHPUT
from autotune.result import Verdict
from autotune.space import candidates, space_for
from autotune.stats.intervals import Interval
from autotune.strategies import in_short
from autotune.trial import Trial
from benchmarks.again import in_turns
from benchmarks.default_space.rows import Row, Searched, figures
from benchmarks.page import page_of, parser_of, this_machine
from benchmarks.parts import run_missing
from benchmarks.share import ITSELF, ratio_in_turns

WORKLOADS = {path.stem: path for path in sorted(Path(__file__).with_name("workloads").glob("*.py"))}
LOOKED_AT = frozenset({"readings"})
"""A change of the search was made for these: they count towards no goal."""
ROWS = Path("autotune-out/default-space/rows.jsonl")
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
BUSY = (0, 1)
"""Cores that another program keeps busy: of each search, and of what is measured again."""
BUDGET = 180.0
FASTEST = 2
"""Configurations of each search that are measured again, beside the fastest of each kind."""


def main() -> None:
    asked = _asked()
    page = page_of(asked, HEAD)
    machine = this_machine()
    rows = run_missing(
        ROWS,
        Row,
        page.commit,
        asked.workloads or WORKLOADS,
        lambda name: _row(name, asked, page.commit),
        minutes=asked.minutes,
    )
    found = [f"{machine}.", "", _searches(asked), "", *(figures(rows) if rows else ())]
    page.show(found)


def _searches(asked: Namespace) -> str:
    return (
        f"Searches of {BUDGET:g} s with seed {asked.seed}; the longer one has {asked.longer:g} s "
        f"and seed {asked.seed + 1}."
    )


def _row(name: str, asked: Namespace, commit: str) -> Row:
    results = {}
    for busy in BUSY:
        with _keeping_busy(busy):
            results[busy] = _search(WORKLOADS[name], seed=asked.seed, budget=BUDGET)
    longer = _search(WORKLOADS[name], seed=asked.seed + 1, budget=asked.longer)
    arms = list(dict.fromkeys(each for one in (*results.values(), longer) for each in _held(one)))
    again = {busy: _again(longer, arms, busy, asked) for busy in BUSY}
    quiet, loaded = (again[busy] for busy in BUSY)
    return Row(
        commit=commit,
        workload=name,
        looked_at=name in LOOKED_AT,
        configurations=_size(longer),
        best=in_short(quiet.best(arms)),
        gain=quiet.gain(),
        best_busy=in_short(loaded.best(arms)),
        gain_busy=loaded.gain(),
        compared=len(arms),
        rounds=asked.rounds,
        searches=tuple(
            Searched(
                busy=busy,
                trained_busy=trained,
                said=f"{results[busy].verdict}: {in_short(results[busy].config)}",
                distributes=results[busy].verdict is Verdict.DISTRIBUTE,
                trials=sum(trial.wall_seconds > 0 for trial in results[busy].trials),
                share=again[trained].ratio(results[busy].config, again[trained].best(arms)),
                over_one_device=again[trained].over_one_device(results[busy].config),
                said_over_yours=results[busy].gain_over_yours,
                over_yours=again[trained].ratio(results[busy].config, results[busy].answer.own),
            )
            for busy, trained in product(BUSY, BUSY)
        ),
    )


def _search(file: Path, *, seed: int, **options: float) -> Result:
    """Search the ready-made space for the factories of a file, and keep no files."""
    with tempfile.TemporaryDirectory() as folder:
        return autotune(
            f"{file}:model_fn",
            f"{file}:dataset_fn",
            options=SearchOptions(objective=MAX_THROUGHPUT.name, seed=seed, **options),
            out=folder,
        )


def _again(longer: Result, arms: Sequence[Configuration], busy: int, asked: Namespace) -> Again:
    """Return what is measured in turns while so many cores are kept busy."""
    with _keeping_busy(busy):
        turns = in_turns(longer, arms, rounds=asked.rounds, seed=asked.seed)
    return Again(rates={arm: _rates(turns[arm]) for arm in arms})


@dataclass(frozen=True, kw_only=True)
class Again:
    """What was measured in turns."""

    rates: Mapping[Configuration, Mapping[int, float]]
    """Of each configuration, by round."""

    def best(self, among: Sequence[Configuration]) -> Configuration:
        return max(among, key=lambda each: _typical(self.rates[each].values()))

    def ratio(self, one: Configuration, other: Configuration) -> Interval | None:
        """Return one's throughput as a multiple of another's, if both ran in two rounds."""
        return ITSELF if one == other else ratio_in_turns(self.rates[one], self.rates[other])

    def over_one_device(self, one: Configuration) -> Interval | None:
        """Return one's throughput as a multiple of that of the best of one device."""
        alone = self._kind(distributed=False)
        return self.ratio(one, self.best(alone)) if alone else None

    def gain(self) -> Interval | None:
        """Return the best of several replicas as a multiple of the best of one device."""
        several = self._kind(distributed=True)
        return self.over_one_device(self.best(several)) if several else None

    def _kind(self, *, distributed: bool) -> list[Configuration]:
        return [each for each in self.rates if each.distributed is distributed]


@contextmanager
def _keeping_busy(cores: int) -> Iterator[None]:
    """Have another program compute on so many cores."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def _held(result: Result) -> Iterator[Configuration]:
    """Yield what a search recommends, the user's own settings, and what was fastest in it."""
    yield result.config
    yield result.answer.own
    rates: dict[Configuration, list[float]] = {}
    for trial in result.trials:
        if trial.measured and trial.examples_per_second:
            rates.setdefault(trial.configuration, []).append(trial.examples_per_second)
    fastest = sorted(rates, key=lambda each: _typical(rates[each]), reverse=True)
    yield from fastest[:FASTEST]
    yield from [each for each in fastest if not each.distributed][:1]
    yield from [each for each in fastest if each.distributed][:1]


def _rates(trials: Mapping[int, Trial]) -> dict[int, float]:
    return {turn: rate for turn, t in trials.items() if (rate := t.examples_per_second)}


def _typical(rates: Iterable[float]) -> float:
    logs = list(map(math.log, rates))
    return fmean(logs) if logs else -math.inf


def _size(result: Result) -> int:
    found = candidates(space_for(result.machine), result.machine, result.facts, result.options)
    return len(found.configurations)


def _asked() -> Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="default: all")
    parser.add_argument("--longer", type=float, default=300.0, help="seconds of the third search")
    parser.add_argument("--rounds", type=int, default=4, help="of what is measured again")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after")
    return parser.parse_args()


if __name__ == "__main__":
    main()
