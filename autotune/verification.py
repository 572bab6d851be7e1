"""Whether a saved recommendation still holds: what every face of autotune calls."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from autotune.answer import Answer, Verdict
from autotune.base import Value
from autotune.checks.certificate import Certificate
from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.resolve import interruptible, reserved_engine
from autotune.engine.tasks import InspectionRequest
from autotune.errors import FactoryNotFound, NothingMeasured, NotVerified, WorkloadError
from autotune.events import Observer, Preparing, as_notices, nobody
from autotune.machine import Machine
from autotune.objective import objective_named
from autotune.options import SearchOptions
from autotune.reason.sentences import reason_text, rule_text
from autotune.result import SavedConfiguration, load_configuration
from autotune.result.stored import located
from autotune.search.failures import ATTEMPTS
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.setup import Subject, calling
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.space import Candidates, Situation
from autotune.stats.intervals import Interval, times, unpaired_ratio
from autotune.text import parse_seconds, plural, sentence
from autotune.trial import BROKEN, Trial
from autotune.versions import VERSION
from autotune.workload import Workload, WorkloadFacts

SECONDS = 50.0
"""Wall time of a check, TensorFlow's import included."""
MORE_TIME = "allow more time"
SURE = 0.99
"""Probability from which an answer is taken: it is looked for after each run."""

Trials = Sequence[Trial]


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
        (winner, *challenger), expected = pool, saved.examples_per_second
        ran, outcome = answer.entry(winner), outcome_of(answer, trials, pool)
        rate = ran and ran.examples_per_second
        return Verification(
            outcome=outcome,
            summary=sentence(f"{LEADS[outcome]}: {self._ground(outcome, answer, trials, pool)}"),
            answer=answer,
            challenger=next(iter(challenger), None),
            ratio=ratio_of(answer, pool),
            examples_per_second=rate,
            trials=trials,
            verdict=saved.verdict,
            configuration=winner,
            margin=saved.margin,
            expected=expected,
            ratio_to_expected=unpaired_ratio(rate, expected) if rate and expected else None,
            notes=tuple(_notes(saved, where)),
            machine=machine,
            seconds=self.engine.now() - self.began,
        )

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

            def clear(answer: Answer) -> bool:
                outcome = outcome_of(answer, runner.history.trials, pool)
                return outcome is not VerificationOutcome.UNCLEAR

            search = Search(runner, found, options)
            search.until = clear
            for each in found.distributed:
                # Speed alone is checked: how it trains was certified, or it was not recommended.
                search.certification.take(each, saved.certificate or Certificate(checks=()))
            search.run()
            try:
                answer = search.end()
            except NothingMeasured as exc:
                raise NotVerified(f"Not verified: {exc.cause}", exc.advice) from exc
        if search.cut:
            raise search.cut
        return answer, tuple(runner.history.trials)

    def _ground(
        self,
        outcome: VerificationOutcome,
        answer: Answer,
        trials: Trials,
        pool: Sequence[Configuration],
    ) -> str:
        """Return why today's answer is the saved one, or is not."""
        ratio, broken = ratio_of(answer, pool), _broken(trials, pool[0])
        if broken and (len(broken) >= ATTEMPTS or answer.entry(pool[0]) is None):
            why = reason_text(broken[0].reason)
            return f"the recommended configuration was not measured ({broken[0].outcome}): {why}"
        if len(pool) == 1 and outcome is VerificationOutcome.HOLDS:
            return (
                "the recommended configuration runs, and the search found no other that can run "
                "here"
            )
        if ratio is None:
            return f"there was no time to run both; {MORE_TIME}"
        adjective = objective_named(self.saved.objective).adjective
        mine, theirs, ends = _words(pool, f"{self.saved.margin:.0%}")
        text = f"{mine} {times(ratio)} as {adjective} as {theirs}"
        if outcome is VerificationOutcome.UNCLEAR:
            return f"{text} after {plural(len(trials), 'run')}; {MORE_TIME}"
        return text + ends.get(outcome, "")


def outcome_of(
    answer: Answer, trials: Trials, pool: Sequence[Configuration]
) -> VerificationOutcome:
    """Return what today's answer says of the first of one or two configurations."""
    winner, ratio = pool[0], ratio_of(answer, pool)
    if len(_broken(trials, winner)) >= ATTEMPTS:
        return VerificationOutcome.FAILS
    if ratio is None:
        holds, fails = len(pool) == 1 and answer.entry(winner) is not None, False
    elif any(each.distributed for each in pool):
        right = answer.distributes if winner.distributed else 1 - answer.distributes
        holds, fails = right >= SURE, right <= 1 - SURE
    else:
        holds, fails = ratio.low > 1, ratio.high < 1
    if fails:
        return VerificationOutcome.FAILS
    return VerificationOutcome.HOLDS if holds else VerificationOutcome.UNCLEAR


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


def _broken(trials: Trials, configuration: Configuration) -> list[Trial]:
    return [t for t in trials if t.configuration == configuration and t.outcome in BROKEN]


def _notes(saved: SavedConfiguration, where: Situation) -> Iterator[str]:
    """Yield why the alternative cannot run here, and what differs between then and today."""
    several = saved.configuration.distributed
    challenger = saved.answer.one_device if several else saved.answer.several
    kind = "single device" if several else "distributed configuration"
    if challenger and (rule := where.why_illegal(challenger)):
        yield f"The best {kind} of the search cannot run here: {rule_text(rule)}"
    machines, workloads = (saved.machine, where.machine), (saved.facts, where.facts)
    software = [*_differing(*machines, _SOFTWARE)]
    if saved.autotune != VERSION:
        software.append(f"autotune {saved.autotune} then, {VERSION} now")
    found = {
        "Measured on another machine": [*_differing(*machines, _HARDWARE)],
        "Measured with other software versions": software,
        "The workload has changed": [*_differing(*workloads, _WORKLOAD)],
    }
    yield from (f"{lead}: {'; '.join(parts)}." for lead, parts in found.items() if parts)


_HARDWARE = {
    "cpus": "CPU cores",
    "memory": "memory",
    "processor": "processor",
    "gpus": "GPUs",
    "tpus": "TPU cores",
}
_SOFTWARE = {"python": "Python", "tensorflow": "TensorFlow", "keras": "Keras"}
_WORKLOAD = {
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
            yield f"{name} {old} then, {new} now"


def _text(field: str, value: object) -> str:
    if field == "memory" and isinstance(value, int):
        # In the digits that are shown: a kernel keeps a few bytes more or less for itself.
        return f"{value / 2**30:.3g} GiB"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value) or "unknown"
