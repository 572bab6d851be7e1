"""Search against search on the replay tables, where all measure, start and stop alike.

    python -m benchmarks.replay.contest [--searches N] [--tables a,b] [--out PAGE --since TEXT]

All measure on the same replayed machine as autotune does, in the same virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from autotune.config import Configuration
from autotune.errors import NothingMeasured
from autotune.options import SearchOptions
from benchmarks.page import page_of
from benchmarks.peers.job import Entry
from benchmarks.peers.progress import CLOSE, Incumbents, close_since, incumbents
from benchmarks.replay.characters import character
from benchmarks.replay.goals import EQUAL, SOON
from benchmarks.replay.meter import Meter, entry
from benchmarks.replay.outcome import Job, Scenario, world_in
from benchmarks.replay.replay import replay
from benchmarks.replay.score import SEEN, UNSEEN, options_of, tables_of
from benchmarks.replay.world import World
from benchmarks.share import Share, bootstrap
from benchmarks.tuners.chance import at_random, with_best_again
from benchmarks.tuners.meter import Tuner
from benchmarks.tuners.tpe import tpe, tpe_in_proportion

DEFAULT = Scenario(name="as recorded, three minutes", seconds=EQUAL.seconds)
MARGIN = SearchOptions().margin
AUTOTUNE = "autotune"
RIVALS: Mapping[str, Tuner] = {
    "random search": at_random,
    "random search, best three again": with_best_again(at_random),
    "Optuna's TPE": tpe,
    "TPE, start-up in proportion": tpe_in_proportion,
    "the same, best three again": with_best_again(tpe_in_proportion),
}
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""What stands before the figures."""


@dataclass(frozen=True, kw_only=True)
class Entered:
    """A search of one contestant."""

    name: str
    job: Job


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it."""

    entered: Entered
    share: float
    seconds_to_close: float | None
    """None: never."""
    distributes: bool
    gain: float
    """What the recommended gains over the best single device."""
    to_gain: float
    """What the best distributed configuration gains over it."""


def entered(contestant: Entered) -> Outcome:
    """Let one contestant search once."""
    world = world_in(contestant.job.table, contestant.job.scenario)
    return _outcome(contestant, world, _held(contestant, world))


def shares_held(contestant: Entered) -> list[tuple[float, float]]:
    """Let one contestant search once; return from when on it held which share of the best."""
    world = world_in(contestant.job.table, contestant.job.scenario)
    plainest = (0.0, _plainest(world))
    return [(at, world.rates[c] / world.best) for at, c in (plainest, *_held(contestant, world))]


def _held(contestant: Entered, world: World) -> Incumbents:
    """Return what a contestant held for the best, and since when; the last is recommended."""
    job = contestant.job
    seconds = job.scenario.budget(world)
    if contestant.name == AUTOTUNE:
        return incumbents(_own(world, seconds, job.seed))
    meter = Meter(world, seconds, job.seed)
    chosen = RIVALS[contestant.name](meter.found.configurations, meter, job.seed)
    log = [*meter.log]
    if chosen:
        log.append(_recommended(seconds - meter.left, chosen))
    return incumbents(log)


def _own(world: World, seconds: float, seed: int) -> list[Entry]:
    try:
        result = replay(world, seconds, seed)
    except NothingMeasured:
        return []
    log = [
        entry(
            each.elapsed,
            each.trial.configuration,
            each.trial.number,
            each.trial.examples_per_second if each.trial.measured else None,
        )
        for each in result.ended
    ]
    return [*log, _recommended(result.seconds, result.findings.recommended)]


def _recommended(seconds: float, configuration: Configuration) -> Entry:
    return Entry(seconds=seconds, what="recommendation", configuration=configuration)


def _outcome(contestant: Entered, world: World, held: Incumbents) -> Outcome:
    found = held or [(0.0, _plainest(world))]
    last = found[-1][1]
    rate, alone = world.rates[last], world.best_of(distributed=False)
    return Outcome(
        entered=contestant,
        share=rate / world.best,
        seconds_to_close=close_since((at, world.rates[c] / world.best) for at, c in found),
        distributes=last.distributed,
        gain=rate / alone - 1,
        to_gain=world.best_of(distributed=True) / alone - 1,
    )


def _plainest(world: World) -> Configuration:
    """Return what somebody keeps whose search has measured nothing."""
    alone = [each for each in world.rates if not each.distributed]
    return min(alone, key=lambda each: (len(each.changed()), each.per_replica_batch))


def main() -> None:
    options = options_of(__doc__)
    page = page_of(options, HEAD)
    names = tables_of(options)
    contestants = [
        Entered(name=name, job=Job(table=table, scenario=scenario, seed=seed))
        for scenario, table, seed, name in product(
            (SOON, DEFAULT, EQUAL), names, range(options.searches), (AUTOTUNE, *RIVALS)
        )
    ]
    with ProcessPoolExecutor(options.processes) as pool:
        outcomes = list(pool.map(entered, contestants, chunksize=6))
    figures = [*figures_of(outcomes, options.searches)]
    page.show(figures)


def figures_of(outcomes: Sequence[Outcome], searches: int) -> Iterator[str]:
    yield f"{searches} searches for each table, scenario and contestant, seeds 0 to {searches - 1}."
    for title, unseen in ((UNSEEN, True), (SEEN, False)):
        mine = [each for each in outcomes if character(each.entered.job.table).unseen is unseen]
        yield from ("", f"### {title}", "")
        yield from _table(mine) if mine else ["None were recorded yet."]


def _table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield (
        "| | share after 5 or 15 % of a pass | lowest tenth | share after three minutes | "
        f"lowest tenth | time to {CLOSE:.0%} | wrong when equal | wrong as recorded | missed |"
    )
    yield "| --- | --- | ---: | --- | ---: | --- | --- | --- | --- |"
    for name in dict.fromkeys(each.entered.name for each in outcomes):
        yield f"| {' | '.join(_cells(name, outcomes))} |"


def _cells(name: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    mine = [each for each in outcomes if each.entered.name == name]
    soon, default, equal = (
        [each for each in mine if each.entered.job.scenario == scenario]
        for scenario in (SOON, DEFAULT, EQUAL)
    )
    yield name
    yield from _shares(soon)
    yield from _shares(default)
    yield time_to_close(default)
    yield _share(equal, lambda each: each.distributes)
    losing = [each for each in default if each.to_gain < 0]
    yield _share(losing, lambda each: each.distributes)
    gaining = [each for each in default if each.to_gain > MARGIN]
    yield _share(gaining, lambda each: not each.distributes)


def _shares(outcomes: Sequence[Outcome]) -> Iterator[str]:
    by_table: dict[str, list[float]] = {}
    for each in outcomes:
        by_table.setdefault(each.entered.job.table, []).append(each.share)
    groups = [np.array(shares) for shares in by_table.values()]
    low, high = bootstrap(groups, lambda values: float(np.median(values)))
    every = np.concatenate(groups)
    yield f"{np.median(every):.1%} ({low:.1%} to {high:.1%})"
    yield f"{np.quantile(every, 0.1):.1%}"


def time_to_close(outcomes: Sequence[Outcome]) -> str:
    """Return the median time, those that never came close included, and how many these are."""
    times = [each.seconds_to_close for each in outcomes]
    never = sum(each is None for each in times)
    middle = float(np.median([float("inf") if each is None else each for each in times]))
    text = f"{middle:.0f} s" if np.isfinite(middle) else "never"
    return f"{text}; never in {Share(count=never, of=len(times))}"


def _share(outcomes: Sequence[Outcome], happened: Callable[[Outcome], bool]) -> str:
    if not outcomes:
        return "no such table"
    return str(Share(count=sum(map(happened, outcomes)), of=len(outcomes)))


if __name__ == "__main__":
    main()
