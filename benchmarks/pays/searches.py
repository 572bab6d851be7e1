"""The search that is judged, and its peers: what each recommends, and what that has taken."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import optuna
from optuna.terminator import BestValueStagnationEvaluator, Terminator

from autotune.answer import Verdict
from autotune.config import Configuration
from autotune.search.setup import nearest
from benchmarks.pays.cases import Case
from benchmarks.peers.job import Entry
from benchmarks.peers.tuners import search
from benchmarks.replay.meter import Meter
from benchmarks.replay.replay import replay

BUDGETS = (30, 60, 180, 600)
"""Seconds of searches that are not told how long the training is."""
LONGEST = 3600.0
"""Seconds after which a peer ends that its terminator has not stopped."""
IDLE = 100
"""Trials without anything new, which cost nothing, after which a terminated peer ends."""
SAMPLERS: Mapping[str, Callable[..., optuna.samplers.BaseSampler]] = {
    "TPE": optuna.samplers.TPESampler,
    "random search": optuna.samplers.RandomSampler,
}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search has found."""

    recommended: Configuration
    seconds: float = 0.0
    """What it took, its own computation included."""
    trials: int = 0
    verdict: Verdict | None = None
    probability: float | None = None
    """That the verdict is right, as it is told."""
    cpu: float = 0.0
    """Processor seconds of the search and of what replays the runs."""
    limited: bool = False
    """Whether a limit ended it."""


Judged = Callable[[Case, float, int], Found]
"""Searches a case with a seed, for a training of so many seconds by the own settings."""
Times = Mapping[float, float]
"""Seconds of the judged search by those of the training."""
Peer = Callable[[Case, int, Times], Iterator[tuple[str, Sequence[float], Found]]]
"""Yields what searches find with a seed, by name, and for which lengths of training."""


def judged(case: Case, training: float, seed: int) -> Found:
    """Search as the program does by default."""
    began = time.process_time()
    result = replay(case.world, seed, training, batch=case.batch)
    answer = result.answer
    return Found(
        recommended=answer.recommended,
        seconds=result.seconds,
        trials=len(result.history.trials),
        verdict=answer.verdict,
        probability=answer.probability,
        cpu=time.process_time() - began,
        limited=answer.verdict is Verdict.UNDECIDED,
    )


def without_search(
    case: Case, _: int, beside: Times
) -> Iterator[tuple[str, Sequence[float], Found]]:
    """Yield what costs nothing: the own settings, and a rule of thumb."""
    singles = [each for each in case.world.rates if not each.distributed]
    largest = max(each.per_replica_batch for each in singles)
    thumb = case.own.taking({"per_replica_batch": largest, "steps_per_execution": 8})
    among = [each for each in singles if each.per_replica_batch == largest]
    yield "no search", [*beside], Found(recommended=case.own)
    yield "rule of thumb", [*beside], Found(recommended=nearest(thumb, among))


def optunas(
    name: str, case: Case, seed: int, beside: Times
) -> Iterator[tuple[str, Sequence[float], Found]]:
    """Yield what a sampler of Optuna finds in the same time, in fixed ones, and unbounded.

    The last is until it is terminated. One search is all of them: it is not told its budget.
    """
    began = time.process_time()
    meter = Meter(case.world, LONGEST, seed, case.batch)
    ends = Ends(meter)
    search(meter.found.configurations, meter, SAMPLERS[name](seed=seed), ends)
    cpu = (time.process_time() - began) / len(meter.log)
    for training, seconds in beside.items():
        yield f"{name}, the same time", [training], within(seconds, meter.log, case)
    for budget in BUDGETS:
        yield f"{name}, {budget} s", [*beside], until(budget, meter.log, case, cpu)
    terminated = until(ends.terminated or LONGEST, meter.log, case, cpu)
    yield f"{name}, Optuna's terminator", [*beside], terminated


def until(seconds: float, log: Sequence[Entry], case: Case, cpu: float = 0.0) -> Found:
    """Return what a search has found that begins no trial after some seconds."""
    begun = [0.0, *(each.seconds for each in log)]
    made = [each for start, each in zip(begun, log, strict=False) if start < seconds]
    return Found(
        recommended=_fastest(made, case),
        seconds=made[-1].seconds,
        trials=len(made),
        cpu=cpu * len(made),
    )


def within(seconds: float, log: Sequence[Entry], case: Case) -> Found:
    """Return what a search has found that takes so many seconds."""
    made = [each for each in log if each.seconds <= seconds]
    return Found(recommended=_fastest(made, case), seconds=seconds, trials=len(made))


def _fastest(made: Sequence[Entry], case: Case) -> Configuration:
    """Return the configuration of the fastest trial; the own one where none was measured."""
    shown = [(each.rate, each.configuration) for each in made if each.rate]
    return max(shown, key=lambda each: each[0])[1] if shown else case.own


def stagnation() -> Terminator:
    """Return the terminator of Optuna that needs neither PyTorch nor scores of folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, and without one in its place
        return Terminator(BestValueStagnationEvaluator())


@dataclass
class Ends:
    """Ends a study after the largest budget, and not before Optuna's terminator would."""

    meter: Meter
    terminator: Terminator = field(default_factory=stagnation)
    terminated: float | None = None
    """Seconds after which that would be."""
    idle: int = 0
    measured: int = 0

    def __call__(self, study: optuna.Study) -> bool:
        # A sampler may propose only what the table lacks, at first.
        now, count = self.meter.log[-1].seconds if self.meter.log else 0.0, len(self.meter.log)
        self.idle, self.measured = 0 if count > self.measured else self.idle + 1, count
        if self.terminated is None and self.terminator.should_terminate(study):
            self.terminated = now
        if self.terminated is None:
            return now >= LONGEST
        return now >= BUDGETS[-1] or self.idle >= IDLE


PEERS: tuple[Peer, ...] = (
    without_search,
    *(partial(optunas, each) for each in SAMPLERS),
)
