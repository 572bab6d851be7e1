"""An A/A test: the same configuration against itself, to see what the machine's noise does."""

from __future__ import annotations

import math
from dataclasses import asdict
from statistics import fmean

from autotune.config import Configuration
from autotune.errors import NothingMeasured
from autotune.events import Observer, Preparing, nobody
from autotune.measure import mean_rate, paired_ratio, pooled_noise
from autotune.options import SearchOptions
from autotune.run.engine import Engine
from autotune.run.load import Load
from autotune.search.request import Subject
from autotune.search.stopping import Budget
from autotune.sentences.reasons import reason_text
from autotune.trial import Trial
from autotune.verification.checkup import Checkup, OtherLoad
from autotune.verification.default import default_for
from autotune.verification.resolution import Resolution, resolution
from autotune.verification.scatter import between_runs, within_runs
from autotune.verification.turns import Turns, turns
from autotune.workload import Factory, Workload

SECONDS = 45.0
"""Wall time of a check, TensorFlow's import included."""
MINUTES = (1, 3, 10)
"""Times for which it is said what they can tell apart."""
FEWEST_PAIRS = 2
BUILT_IN = "autotune.probes.small"


def built_in() -> Workload:
    """Return the small workload that comes with autotune."""
    return Workload(
        model=Factory(name="model_fn", module=BUILT_IN),
        dataset=Factory(name="dataset_fn", module=BUILT_IN),
    )


def examine(
    engine: Engine,
    workload: Workload | None = None,
    *,
    options: SearchOptions | None = None,
    observer: Observer = nobody,
) -> Checkup:
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
    return Subject(workload=workload, facts=engine.inspect(workload), machine=machine)


def _hopeless(running: Turns) -> bool:
    return running.count >= FEWEST_PAIRS and not any(t.measured for t in running.trials)


def _checkup(
    running: Turns, subject: Subject, configuration: Configuration, load: Load | None
) -> Checkup:
    pairs = running.pairs()
    if len(pairs) < FEWEST_PAIRS:
        raise _too_little(running.trials)
    rates = [*running.rates(0), *running.rates(1)]
    noise = pooled_noise([[math.log(rate) for rate in rates]])
    measured = [trial for trial in running.trials if trial.measured]
    between = between_runs(rates)
    pair_seconds = 2 * fmean(trial.wall_seconds for trial in measured)
    return Checkup(
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
        resolutions=_resolutions(between.value, pair_seconds),
        other_load=_other_load(load),
        seconds=running.elapsed,
        trials=running.trials,
    )


def _resolutions(sd: float, pair_seconds: float) -> tuple[Resolution, ...]:
    return tuple(
        resolution(60.0 * minutes, sd=sd, pair_seconds=pair_seconds) for minutes in MINUTES
    )


def _other_load(load: Load | None) -> OtherLoad | None:
    if load is None:
        return None
    fields = {name: value for name, value in asdict(load).items() if name != "seconds"}
    return OtherLoad(**fields, noticeable=load.noticeable)


def _too_little(trials: tuple[Trial, ...]) -> NothingMeasured:
    failed = next((trial for trial in trials if not trial.measured), None)
    if failed:
        return NothingMeasured(
            f"A run was not measured ({failed.outcome}): {reason_text(failed.reason)}",
            "Fix this first.",
        )
    return NothingMeasured(
        f"There was time for only {len(trials)} run{'s' * (len(trials) != 1)}; an A/A test needs "
        "4.",
        "Increase --seconds.",
    )
