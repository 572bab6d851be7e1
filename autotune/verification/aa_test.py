"""An A/A test: one configuration against itself shows what the noise of a machine is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.load import Load
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.errors import NothingMeasured
from autotune.events import Observer, Preparing, nobody
from autotune.machine import Machine
from autotune.options import MARGIN, SearchOptions
from autotune.reason.sentences import reason_text
from autotune.search.request import Subject
from autotune.search.stopping import Budget
from autotune.search.verdict import FALSE_RATE, FEWEST, LAST_LOOK, MAX_ROUNDS
from autotune.stats import Interval, mean_rate, paired_ratio, pooled_noise, squared_residuals
from autotune.stats.compare import BORROWED
from autotune.stats.intervals import t_quantile
from autotune.stats.windows import rate
from autotune.trial import Trial
from autotune.value import Value
from autotune.verification.contest import Turns, turns
from autotune.verification.question import default_for
from autotune.wording import plural
from autotune.workload import Factory, Workload

POWER = 0.8
"""How often a gain of that size is found."""
SECONDS = 45.0
"""Wall time of a check, TensorFlow's import included."""
MINUTES = (1, 3, 10)
"""Times for which it is said what they can tell apart."""
FEWEST_PAIRS = 2
BUILT_IN = "autotune.probes.small"


class Resolution(Value):
    """What some time of paired runs can show."""

    seconds: float
    """Of pairs alone; a search also needs time to find what to compare."""
    pairs: int
    gain: float | None
    """As a share: 0.05 is 5 %. None where the time does not suffice for a verdict."""


class AATest(Value):
    """How much timings scatter on a machine, and what can be told apart all the same."""

    machine: Machine
    workload: str
    """What was trained."""
    configuration: Configuration
    """With which settings: the same in every run."""
    examples_per_second: Interval
    between: Interval
    """Standard deviation of log(throughput) between fresh runs, with its 95 % interval."""
    within: float
    """Standard deviation of log(rate) between the windows of a run, of 0.1 s or one call each."""
    runs: int
    """Runs that were measured."""
    pairs: int
    ratio: Interval
    """Of two runs of the same configuration that took turns: one lies in it, unless noise is not
    what the comparisons take it for, or by chance in one check out of twenty."""
    pair_seconds: float
    """Wall time of a pair."""
    resolutions: tuple[Resolution, ...]
    other_load: Load | None
    """What other programs took while the runs lasted; None where the engine cannot tell."""
    seconds: float
    """Wall time, TensorFlow's import included."""
    trials: tuple[Trial, ...]

    @property
    def sound(self) -> bool:
        """Whether the interval of the A/A ratio contains one."""
        return self.ratio.low <= 1 <= self.ratio.high


def between_runs(rates: Sequence[float]) -> Interval:
    """Return the standard deviation of log(rate) between runs, with its 95 % interval.

    The interval is that of a normal distribution's deviation: (n - 1) s^2 / sigma^2 follows
    chi-squared with n - 1 degrees of freedom.

    Args:
        rates: Of at least two runs.
    """
    from scipy.special import chdtri  # noqa: PLC0415 - it takes half a second

    degrees = len(rates) - 1
    # Equal rates to the last digit are a clock's doing; an interval has to be positive.
    sd = max(stdev(map(math.log, rates)), 1e-6)
    low, high = (sd * math.sqrt(degrees / float(chdtri(degrees, p))) for p in (0.025, 0.975))
    return Interval(low=low, value=sd, high=high)


def within_runs(trials: Iterable[Trial]) -> float:
    """Return the standard deviation of log(rate) between the steady windows of a run.

    Pooled over all runs, each around its own mean. Stalls count in full.
    """
    squares, degrees = squared_residuals(
        [math.log(rate(each)) for each in trial.windows[trial.steady_from or 0 :]]
        for trial in trials
    )
    return math.sqrt(squares / degrees) if degrees else 0.0


def resolution(seconds: float, *, sd: float, pair_seconds: float) -> Resolution:
    """Return what some time can show: no gain below the margin, which a search leaves alone.

    Args:
        seconds: The time.
        sd: Noise between fresh runs, as the standard deviation of log(throughput).
        pair_seconds: Wall time of a pair of runs.
    """
    pairs = min(int(seconds / pair_seconds), MAX_ROUNDS)
    gain = smallest_gain(sd, pairs)
    return Resolution(seconds=seconds, pairs=pairs, gain=gain and max(gain, MARGIN))


def smallest_gain(sd: float, pairs: int) -> float | None:
    """Return the smallest gain that is found with probability `POWER`, or None for too few pairs.

    The sample-size formula of a paired t-test, solved for the difference (Chow, Shao and Wang,
    Sample Size Calculations in Clinical Research, section 3.1; Lachin, Controlled Clinical Trials
    2, 1981): a mean of n differences, each with the deviation sqrt(2) sd, has to exceed

        (t(1 - a, v) + t(POWER, v)) sqrt(2 / n) sd

    with the level a that a verdict spends on its last look, and the degrees of freedom v with
    which it reads its pairs. It takes the noise for known to be `sd`. Differences of logarithms,
    so the gain is their exponential less one.

    Args:
        sd: Noise between fresh runs, as the standard deviation of log(throughput).
        pairs: How many.
    """
    if pairs < FEWEST:
        return None
    degrees = pairs - 1 + BORROWED
    level = 1 - FALSE_RATE * LAST_LOOK
    reach = t_quantile(degrees, level) + t_quantile(degrees, POWER)
    return math.expm1(reach * math.sqrt(2 / pairs) * sd)


def built_in() -> Workload:
    """Return the small workload that comes with autotune."""
    return Workload(
        model=Factory(name="model_fn", module=BUILT_IN),
        dataset=Factory(name="dataset_fn", module=BUILT_IN),
    )


def aa_test(
    engine: Engine,
    workload: Workload | None = None,
    *,
    options: SearchOptions | None = None,
    observer: Observer = nobody,
) -> AATest:
    """Run one configuration again and again, and tell how much it scatters.

    Args:
        engine: Makes the runs.
        workload: What to train; None takes the small one that comes with autotune.
        options: Time and seed.
        observer: Is told of each run as it starts and ends.

    Raises:
        WorkloadError: A factory does not fulfil its contract.
        NothingMeasured: There were fewer than two pairs of runs.
    """
    options = options or SearchOptions(budget=SECONDS)
    budget = Budget(options, engine.now, engine.now())
    subject = _subject(engine, workload or built_in(), observer)
    configuration = default_for(subject.facts)
    engine.load()  # so that the next call tells of the time from here
    with turns(
        engine,
        subject,
        (configuration, configuration),
        budget=budget,
        seed=options.seed,
        observer=observer,
    ) as running:
        while running.affordable and not _hopeless(running):
            running.take()
    return _checkup(running, subject, configuration, engine.load())


def _subject(engine: Engine, workload: Workload, observer: Observer) -> Subject:
    observer(Preparing(what="Inspecting the machine"))
    machine = engine.machine()
    observer(Preparing(what="Calling model_fn and dataset_fn"))
    return Subject(
        workload=workload, facts=engine.execute(InspectionRequest(workload)), machine=machine
    )


def _hopeless(running: Turns) -> bool:
    return running.count >= FEWEST_PAIRS and not any(t.measured for t in running.trials)


def _checkup(
    running: Turns, subject: Subject, configuration: Configuration, load: Load | None
) -> AATest:
    pairs = running.pairs()
    if len(pairs) < FEWEST_PAIRS:
        raise _too_little(running.trials)
    rates = [*running.rates(0), *running.rates(1)]
    noise = pooled_noise([[math.log(rate) for rate in rates]])
    measured = [trial for trial in running.trials if trial.measured]
    between = between_runs(rates)
    pair_seconds = 2 * fmean(trial.wall_seconds for trial in measured)
    return AATest(
        machine=subject.machine,
        workload=subject.workload.name,
        configuration=configuration,
        examples_per_second=mean_rate(rates, noise),
        between=between,
        within=within_runs(measured),
        runs=len(measured),
        pairs=len(pairs),
        ratio=paired_ratio([a for a, _ in pairs], [b for _, b in pairs], noise),
        pair_seconds=pair_seconds,
        resolutions=tuple(
            resolution(60.0 * minutes, sd=between.value, pair_seconds=pair_seconds)
            for minutes in MINUTES
        ),
        other_load=load,
        seconds=running.elapsed,
        trials=running.trials,
    )


def _too_little(trials: tuple[Trial, ...]) -> NothingMeasured:
    failed = next((trial for trial in trials if not trial.measured), None)
    if failed:
        return NothingMeasured(
            f"A run was not measured ({failed.outcome}): {reason_text(failed.reason)}",
            "Fix this first.",
        )
    return NothingMeasured(
        f"There was time for only {plural(len(trials), 'run')}; an A/A test needs 4.",
        "Increase --seconds.",
    )
