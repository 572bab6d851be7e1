"""Whether a saved recommendation still holds: what every face of autotune calls."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from autotune.answer import Answer, Verdict
from autotune.checks.certificate import Certificate
from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.interrupts import interruptible
from autotune.engine.resolve import reserved_engine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.errors import FactoryNotFound, NothingMeasured, NotVerified, WorkloadError
from autotune.events import Observer, Preparing, as_notices, nobody
from autotune.installed import VERSION
from autotune.machine import Machine
from autotune.objective import objective_named
from autotune.options import SearchOptions
from autotune.reason.sentences import reason_text, rule_text
from autotune.result import SavedConfiguration, load_configuration
from autotune.result.saved import located
from autotune.search.failures import ATTEMPTS
from autotune.search.request import Subject, calling
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.space import Candidates, Situation
from autotune.stats.intervals import Interval, unpaired_ratio
from autotune.text import parse_seconds, plural, sentence, times
from autotune.trial import BROKEN, Stage, Trial
from autotune.value import Value
from autotune.workload import Workload, WorkloadFacts

SECONDS = 50.0
"""Wall time of a check, TensorFlow's import included."""
MORE_TIME = "allow more time"
SURE = 0.99
"""Probability from which an answer is taken: it is looked for after each run."""


class VerificationOutcome(StrEnum):
    """What the runs of today say of a saved recommendation."""

    HOLDS = "holds"
    """Confirmed by the runs."""
    FAILS = "fails"
    """Refuted by the runs, or it does not run any more."""
    UNCLEAR = "unclear"
    """Inconclusive within the given time."""


LEADS: Mapping[VerificationOutcome, str] = {
    VerificationOutcome.HOLDS: "Confirmed",
    VerificationOutcome.FAILS: "Refuted",
    VerificationOutcome.UNCLEAR: "Inconclusive",
}


class Verification(Value):
    """Whether a saved recommendation still holds on this machine with the current code."""

    outcome: VerificationOutcome
    summary: str
    """The outcome with its reason, as a sentence."""
    answer: Answer
    """What a search among the two says today."""
    challenger: Configuration | None = None
    """The alternative; None if there was none."""
    ratio: Interval | None = None
    """How many times as good as the alternative the recommendation is; None before both ran."""
    examples_per_second: Interval | None = None
    """Throughput of the recommended configuration; None if it was not measured."""
    trials: tuple[Trial, ...] = ()
    verdict: Verdict
    """The saved verdict."""
    configuration: Configuration
    """The recommended configuration."""
    margin: float
    """Minimum relative gain for which distribution is recommended."""
    expected: Interval | None
    """Examples per second in the search."""
    ratio_to_expected: Interval | None
    """The current throughput relative to `expected`."""
    notes: tuple[str, ...]
    """Differences from the search and other remarks, one sentence each."""
    machine: Machine
    """The current machine."""
    seconds: float
    """Wall time, including the import of TensorFlow."""


def check_factories(workload: Workload) -> None:
    """Refuse a file that holds only an incomplete text of a function without a module."""
    for factory in workload.factories.values():
        source = factory.source
        written = source is not None and bool(source.expression) and not source.missing
        if not (factory.module or factory.pickled or written):
            raise FactoryNotFound(
                f"{factory.name} is not importable (a lambda, local function or notebook cell), "
                "so it cannot be loaded from a file.",
                "In Python, pass `result.saved()` to verify(); or tune with importable factories.",
            )


def verify(
    saved: str | Path | SavedConfiguration,
    *,
    seconds: str | float = SECONDS,
    observer: Observer = nobody,
    engine: Engine | str | None = None,
) -> Verification:
    """Check whether a saved recommendation still holds on this machine with the current code.

    It is a search among two: the recommended configuration, and the best single-device one if
    distribution is recommended, else the best distributed one, else the own settings. Its answer is
    compared with the saved one. Waits for other searches on this machine.

    Args:
        saved: `Result.saved()`, or the path of a saved `config.yaml`. Script and modules are
            looked for beside it, in the folders above it, and in the working folder, and run in
            the one where they are found.
        seconds: Time limit, including the import of TensorFlow; stops earlier once the answer is
            clear.
        observer: Called with each event, such as the start and end of a run.
        engine: Runs the programs: an engine, its name, or its URL. None uses this machine.

    Returns:
        The outcome (holds, fails or unclear), the ratio with its 95% interval, today's answer, and
        all runs.

    Raises:
        ConfigurationError: The file cannot be read.
        FactoryNotFound: A factory cannot be loaded from a file at all.
        NothingMeasured: The time was over before the workload was inspected.
        NotVerified: Nothing was measured that tells: the workload is not found or does not run,
            the machine cannot run what is recommended, or every run failed.
        UsageError: `seconds` is not a valid duration.
    """
    if isinstance(saved, SavedConfiguration):
        known, folder = saved, Path()
    else:
        known = load_configuration(saved)
        folder = located(known, Path(saved))
    options = SearchOptions(budget=parse_seconds(seconds))
    check_factories(known.workload)
    name = known.workload.name
    notify = as_notices(observer)
    with (
        reserved_engine(engine, name, notify, seconds=options.budget) as reserved,
        interruptible(reserved) as running,
        chdir(folder),
    ):
        return _Check(known, running, observer, running.now()).run(options)


@dataclass(frozen=True)
class _Check:
    saved: SavedConfiguration
    engine: Engine
    observer: Observer
    began: float

    def run(self, options: SearchOptions) -> Verification:
        self.observer(Preparing(what="Inspecting the machine"))
        machine, saved = self.engine.machine(), self.saved
        try:
            where = Situation(machine=machine, facts=self._facts(options))
        except WorkloadError as exc:
            raise NotVerified(f"Not verified: {exc.cause}", exc.advice) from exc
        if rule := where.why_illegal(saved.configuration):
            cause = (
                f"Not verified: the recommended configuration cannot run here: {rule_text(rule)}"
            )
            raise NotVerified(
                sentence(cause),
                "Verify it on a machine like that of the search, or search again here.",
            )
        pool = pool_of(saved, where)
        asked = options.model_copy(update={"margin": saved.margin, "objective": saved.objective})
        answer, trials = self._search(pool, where, asked)
        return self._result(answer, trials, pool, where)

    def _facts(self, options: SearchOptions) -> WorkloadFacts:
        """Return what the factories give today; what they gave, where only their text is left."""
        saved = self.saved
        if not all(each.module or each.pickled for each in saved.workload.factories.values()):
            return saved.facts
        self.observer(calling(saved.workload))
        own = saved.configuration.for_factories()
        most = Budget(options, self.engine.now, self.began).most
        facts = self.engine.execute(InspectionRequest(saved.workload, offered=own, whole=most))
        return facts.model_copy(update={"learning": saved.facts.learning})

    def _search(
        self, pool: Sequence[Configuration], where: Situation, options: SearchOptions
    ) -> tuple[Answer, tuple[Trial, ...]]:
        """Search among the recommended configuration and its challenger."""
        saved = self.saved
        subject = Subject(
            workload=saved.workload,
            facts=where.facts,
            machine=where.machine,
            objective=objective_named(saved.objective),
            length=saved.answer.length,
        )
        found = Candidates(configurations=tuple(pool), limits=())
        with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
            runner = Runner(
                self.engine,
                subject,
                Study(pool=pool),
                folder=Path(folder),
                budget=Budget(options, self.engine.now, self.began),
                observer=self.observer,
            )
            search = Search(runner, found, options)
            for each in found.distributed:
                # Speed alone is checked: how it trains was certified, or it was not recommended.
                search.certification.take(each, saved.certificate or Certificate(checks=()))
            try:
                for each in pool:
                    runner.run(each, Stage.EXPLORE if each.distributed else Stage.BASELINE)
                search.run()
                answer = search.end()
                while not search.cut and (more := again(answer, runner, pool)):
                    runner.run(more, Stage.REPEAT)
                    answer = search.end()
            except NothingMeasured as exc:
                raise NotVerified(f"Not verified: {exc.cause}", exc.advice) from exc
        if search.cut:
            raise search.cut
        return answer, tuple(runner.history.trials)

    def _result(
        self,
        answer: Answer,
        trials: tuple[Trial, ...],
        pool: Sequence[Configuration],
        where: Situation,
    ) -> Verification:
        saved, (winner, *challenger) = self.saved, pool
        expected, ran = saved.examples_per_second, answer.entry(winner)
        rate, ratio = ran and ran.examples_per_second, ratio_of(answer, pool)
        outcome, ground = self._compared(answer, trials, pool, ratio)
        return Verification(
            outcome=outcome,
            summary=sentence(f"{LEADS[outcome]}: {ground}"),
            answer=answer,
            challenger=next(iter(challenger), None),
            ratio=ratio,
            examples_per_second=rate,
            trials=trials,
            verdict=saved.verdict,
            configuration=winner,
            margin=saved.margin,
            expected=expected,
            ratio_to_expected=unpaired_ratio(rate, expected) if rate and expected else None,
            notes=(*_on_challenger(saved, where), *_changes(saved, where)),
            machine=where.machine,
            seconds=self.engine.now() - self.began,
        )

    def _compared(
        self,
        answer: Answer,
        trials: Sequence[Trial],
        pool: Sequence[Configuration],
        ratio: Interval | None,
    ) -> tuple[VerificationOutcome, str]:
        """Return whether today's answer is the saved one, and why."""
        winner = pool[0]
        broken = _broken(trials, winner)
        if broken and (len(broken) >= ATTEMPTS or answer.entry(winner) is None):
            return VerificationOutcome.FAILS, _unmeasured(broken[0])
        outcome = sure_outcome(answer, trials, pool) or VerificationOutcome.UNCLEAR
        if len(pool) == 1 and outcome is VerificationOutcome.HOLDS:
            return outcome, (
                "the recommended configuration runs, and the search found no other that can run "
                "here"
            )
        if ratio is None:
            return outcome, f"there was no time to run both; {MORE_TIME}"
        adjective = objective_named(self.saved.objective).adjective
        mine, theirs, ends = _words(pool, f"{self.saved.margin:.0%}")
        text = f"{mine} {times(ratio)} as {adjective} as {theirs}"
        if outcome is VerificationOutcome.UNCLEAR:
            return outcome, f"{text} after {plural(len(trials), 'run')}; {MORE_TIME}"
        return outcome, text + ends.get(outcome, "")


def again(answer: Answer, runner: Runner, pool: Sequence[Configuration]) -> Configuration | None:
    """Return what has run least, where more runs of it may tell; None where they need not.

    A search ends as soon as more of it saves no training; this one is asked for an answer.
    """
    history = runner.history
    least = min(pool, key=lambda each: len(history.scores(each)))
    affords = history.costs.seconds(least) <= runner.budget.left
    open_ = sure_outcome(answer, history.trials, pool) is None and least not in history.ruled_out
    return least if affords and open_ else None


def sure_outcome(
    answer: Answer, trials: Sequence[Trial], pool: Sequence[Configuration]
) -> VerificationOutcome | None:
    """Return what today's answer says of the first of one or two configurations, if it is sure."""
    winner, ratio = pool[0], ratio_of(answer, pool)
    broken = _broken(trials, winner)
    if len(broken) >= ATTEMPTS:
        return VerificationOutcome.FAILS
    if ratio is None:
        alone = len(pool) == 1 and answer.entry(winner) is not None
        return VerificationOutcome.HOLDS if alone else None
    if any(each.distributed for each in pool):
        right = answer.distributes if winner.distributed else 1 - answer.distributes
        holds, fails = right >= SURE, right <= 1 - SURE
    else:
        holds, fails = ratio.low > 1, ratio.high < 1
    if fails:
        return VerificationOutcome.FAILS
    return VerificationOutcome.HOLDS if holds else None


def ratio_of(answer: Answer, pool: Sequence[Configuration]) -> Interval | None:
    """Return how many times as good the first of two is as the other; None before both ran."""
    winner, challenger = answer.entry(pool[0]), answer.entry(pool[-1])
    if winner is None or challenger is None or winner == challenger:
        return None
    # The own settings of a search among two are one of them.
    return winner.ratio if challenger.configuration == answer.own else challenger.ratio.under(1)


def pool_of(saved: SavedConfiguration, where: Situation) -> tuple[Configuration, ...]:
    """Return the recommended configuration and, if one can run, what it is compared with.

    Raises:
        NotVerified: It is distributed, and nothing on one device can run here.
    """
    winner, found = saved.configuration, saved.answer
    others = (found.one_device if winner.distributed else found.several, found.own)
    legal = (each for each in others if each and each != winner and not where.why_illegal(each))
    challenger = next(legal, None)
    if challenger is None and winner.distributed:
        raise NotVerified(
            "Not verified: the file holds no single-device configuration that can run here.",
            "Verify it on a machine like that of the search, or search again here.",
        )
    return (winner, challenger) if challenger else (winner,)


def _words(
    pool: Sequence[Configuration], margin: str
) -> tuple[str, str, Mapping[VerificationOutcome, str]]:
    """Return both sides in words, and what follows from an outcome."""
    winner, challenger = pool
    holds, fails = VerificationOutcome.HOLDS, VerificationOutcome.FAILS
    if winner.distributed:
        ends = {fails: f", a gain of less than {margin}"}
        return "distributed training is", "the best single device", ends
    if challenger.distributed:
        ends = {
            holds: f", so distribution gains less than {margin}",
            fails: f", so distribution gains more than {margin}",
        }
        return "one device is", "the best distributed configuration", ends
    return "the recommended configuration is", "your own settings", {}


def _broken(trials: Sequence[Trial], configuration: Configuration) -> list[Trial]:
    return [t for t in trials if t.configuration == configuration and t.outcome in BROKEN]


def _unmeasured(trial: Trial) -> str:
    why = reason_text(trial.reason)
    return f"the recommended configuration was not measured ({trial.outcome}): {why}"


def _on_challenger(saved: SavedConfiguration, where: Situation) -> Iterator[str]:
    """Yield that the configuration to compare with cannot run here."""
    several = saved.configuration.distributed
    challenger = saved.answer.one_device if several else saved.answer.several
    kind = "single device" if several else "distributed configuration"
    if challenger and (rule := where.why_illegal(challenger)):
        yield f"The best {kind} of the search cannot run here: {rule_text(rule)}"


def _changes(saved: SavedConfiguration, where: Situation) -> Iterator[str]:
    """Yield what differs between the saved machine, software and workload and today's."""
    software = [*_differing(saved.machine, where.machine, _SOFTWARE)]
    if saved.autotune != VERSION:
        software.append(_change("autotune", saved.autotune, VERSION))
    found = {
        "Measured on another machine": [*_differing(saved.machine, where.machine, _HARDWARE)],
        "Measured with other software versions": software,
        "The workload has changed": [*_differing(saved.facts, where.facts, _WORKLOAD)],
    }
    return (f"{lead}: {'; '.join(parts)}." for lead, parts in found.items() if parts)


_HARDWARE: Mapping[str, str] = {
    "cpus": "CPU cores",
    "memory": "memory",
    "processor": "processor",
    "gpus": "GPUs",
    "tpus": "TPU cores",
}
_SOFTWARE: Mapping[str, str] = {"python": "Python", "tensorflow": "TensorFlow", "keras": "Keras"}
_WORKLOAD: Mapping[str, str] = {
    "examples": "examples",
    "example_bytes": "bytes per example",
    "element": "element spec",
    "weights": "model weights",
    "optimizer": "optimizer",
    "loss": "loss",
}


def _differing(before: Value, now: Value, names: Mapping[str, str]) -> Iterator[str]:
    for field, name in names.items():
        old, new = (_text(field, getattr(each, field)) for each in (before, now))
        if old != new:
            yield _change(name, old, new)


def _change(name: str, before: str, now: str) -> str:
    return f"{name} {before} then, {now} now"


def _text(field: str, value: object) -> str:
    if field == "memory" and isinstance(value, int):
        # In the digits that are shown: a kernel keeps a few bytes more or less for itself.
        return f"{value / 2**30:.3g} GiB"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value) or "unknown"
