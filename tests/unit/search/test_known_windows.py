"""What is reported of runs whose truth is known, from the first window to the record."""

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import pytest
from optuna.samplers import RandomSampler

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.reason import Outcome
from autotune.search.stopping import (
    PATIENCE,
    PATIENCE_IN_REPEATS,
    MeasureWatch,
    Reference,
    Shown,
    SlowerThanOneDevice,
)
from autotune.search.study import Study
from autotune.search.trials import trial_of
from autotune.shared_values import Window
from autotune.stats.windows import UNKNOWN, Epoch
from autotune.trial import Stage, Trial

RATE = 100.0
"""Steps per second of a run that nothing holds up."""
ONE = Configuration(per_replica_batch=1)
RUNS = 12
Course = Callable[[float, int], float]
"""Seconds of a step, by the time when it begins and by its number."""


def windows(
    course: Course, *, epoch: Epoch = UNKNOWN, call: int = 1, seed: int, noise: float
) -> Iterator[Window]:
    """Yield windows of at least 0.1 s and whole calls, as the clock of a trial cuts them."""
    draw, now, since, steps, ends = random.Random(seed), 0.0, 0.0, 0, 0
    for number in range(1, 100_000):
        now += course(now, number) * math.exp(draw.gauss(0, noise))
        steps += 1
        ends += number % epoch.steps < 1
        if now - since >= 0.1 and number % call == 0:
            yield Window(steps, now - since, ends)
            since, steps, ends = now, 0, 0


def beside_one_device() -> Callable[[Shown], float | None]:
    """Report to a pruner that compares a trial with one device at `RATE`."""
    study = Study(pool=[ONE])
    study.use(RandomSampler(), SlowerThanOneDevice(lambda: Reference(math.log(RATE), 0.05)))
    return partial(study.report, study.ask(ONE))


def timed(
    course: Course,
    *,
    epoch: Epoch = UNKNOWN,
    call: int = 1,
    ahead: float = PATIENCE,
    report: Callable[[Shown], float | None] | None = None,
    seed: int = 0,
    noise: float = 0.03,
) -> Trial:
    """Return the record of a run that takes this course until its watch stops it."""
    watch = MeasureWatch(report=report, epoch=epoch, ahead=ahead)
    seen: list[Window] = []
    for window in windows(course, epoch=epoch, call=call, seed=seed, noise=noise):
        seen.append(window)
        if stop := watch(tuple(seen)):
            result = RunResult(outcome=stop.outcome, reason=stop.reason, windows=tuple(seen))
            return trial_of(0, Stage.EXPLORE, ONE, result, epoch)
    raise AssertionError("The watch never stopped the run.")


def steady(now: float, number: int) -> float:
    del now, number
    return 1 / RATE


def paused(seconds: float, *, every: float) -> Course:
    """Return the course of a run that waits once in so many seconds, itself included."""
    steps = round((every - seconds) * RATE)
    return lambda _, number: 1 / RATE + seconds * (number % steps == steps // 2)


def ending(seconds: float, *, steps: int) -> Course:
    return lambda _, number: 1 / RATE + seconds * (number % steps == 0)


def moving(begin: float, *, tau: float, end: float = 1.0) -> Course:
    return lambda now, _: 1 / RATE / (end + (begin - end) * math.exp(-now / tau))


def after(steps: int, *, before: float, then: float) -> Course:
    return lambda _, number: 1 / RATE / (before if number <= steps else then)


SEEN = {
    "steady": (steady, 1.0, UNKNOWN, 0.02),
    "0.3 s of every second": (paused(0.3, every=1), 0.7, UNKNOWN, 0.05),
    "a short epoch's end": (ending(0.3, steps=200), 2 / 2.3, Epoch(steps=200, eventful=True), 0.03),
    "a refill that is near": (
        ending(0.5, steps=350), 3.5 / 4.0, Epoch(steps=350, eventful=True), 0.03,
    ),
    "an epoch of a second": (ending(0.5, steps=100), 1 / 1.5, Epoch(steps=100), 0.03),
    "prefetched steps": (after(150, before=1, then=0.5), 0.5, Epoch(ready=150), 0.03),
    "a cache that fills": (after(60, before=0.3, then=1), 1.0, Epoch(ready=60), 0.03),
    "a ramp": (moving(0.5, tau=3), 1.0, UNKNOWN, 0.12),
}  # fmt: skip
"""Course, its share of the usual rate in a long training, what is known, the error claimed."""


@pytest.mark.parametrize("name", SEEN)
def test_a_rate_is_that_of_a_long_training(name: str) -> None:
    course, share, epoch, within = SEEN[name]
    trials = [timed(course, epoch=epoch, ahead=PATIENCE_IN_REPEATS, seed=s) for s in range(RUNS)]
    errors = [(trial.examples_per_second or 0) / (RATE * share) - 1 for trial in trials]
    assert abs(median(errors)) <= within


@pytest.mark.parametrize(("name", "within"), [("0.3 s of every second", 0.03), ("a ramp", 0.1)])
def test_calls_of_more_than_a_second_do_not_hide_what_they_hold(name: str, within: float) -> None:
    """Two that agree by chance, or are too few to show a trend, do not end a run."""
    course, share, _, _ = SEEN[name]
    trials = [timed(course, call=96, seed=s) for s in range(RUNS)]
    errors = [(trial.examples_per_second or 0) / (RATE * share) - 1 for trial in trials]
    assert abs(median(errors)) <= within


def test_an_end_beyond_the_run_is_bounded_by_the_input_alone() -> None:
    """Three seconds of refill in an epoch of 30 may take a tenth of the rate, and no more.

    What an end costs that a run saw is in its rate.
    """
    epoch = Epoch(steps=27 * RATE, pause=3.0, eventful=True)
    trial = timed(ending(3.0, steps=2700), epoch=epoch)
    rate = trial.examples_per_second or 0
    assert rate * trial.least == pytest.approx(RATE * 0.9, rel=0.03)
    seen = Epoch(steps=100, pause=0.3, eventful=True)
    assert timed(ending(0.3, steps=100), epoch=seen).least == 1


def test_a_ramp_is_not_pruned() -> None:
    trials = [
        timed(moving(0.4, tau=3, end=1.2), report=beside_one_device(), seed=s) for s in range(RUNS)
    ]
    assert {trial.outcome for trial in trials} == {Outcome.MEASURED}
    assert min(trial.examples_per_second or 0 for trial in trials) > RATE


def test_a_steady_run_takes_no_longer_than_it_must() -> None:
    taken = [sum(w.seconds for w in timed(steady, seed=s).windows) for s in range(RUNS)]
    assert median(taken) < 1.6


def test_a_falling_rate_is_followed_down() -> None:
    trial = timed(moving(1.3, tau=2), noise=0.01)
    assert trial.examples_per_second == pytest.approx(RATE, rel=0.06)
