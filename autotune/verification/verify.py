"""Whether a saved recommendation still holds: what every face of autotune calls."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from autotune.engine.base import Engine
from autotune.engine.resolve import reserved_engine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.errors import DatasetTooSmall, FactoryFailed, FactoryNotFound
from autotune.events import Observer, Preparing, nobody, notice_of
from autotune.options import SearchOptions
from autotune.reason.sentences import rule_text
from autotune.result import SavedConfiguration, load_configuration
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.stats import unpaired_ratio
from autotune.text import parse_seconds, sentence
from autotune.verification.answer import Answer, Comparison, Verification
from autotune.verification.contest import LEADS, Contest
from autotune.verification.question import Case, changes, notes_on_challenger, question_of
from autotune.workload import Factory, Workload, WorkloadFacts


def check_factories(workload: Workload) -> None:
    """Refuse a file that holds only an incomplete text of a function without a module."""
    for factory in workload.factories.values():
        if not factory.module and not factory.pickled and not _written_down(factory):
            raise FactoryNotFound(
                f"{factory.name} is not importable (a lambda, local function or notebook cell), "
                "so it cannot be loaded from a file.",
                "In Python, pass `result.saved()` to verify(); or tune with importable factories.",
            )


def callable_here(workload: Workload) -> bool:
    """Whether the factories themselves can be called, and not only the program that has them."""
    return all(factory.module or factory.pickled for factory in workload.factories.values())


def _written_down(factory: Factory) -> bool:
    source = factory.source
    return source is not None and bool(source.expression) and not source.missing


SECONDS = 50.0
"""Wall time of a check, TensorFlow's import included."""


def verify(
    saved: str | Path | SavedConfiguration,
    *,
    seconds: str | float = SECONDS,
    seed: int = 0,
    observer: Observer = nobody,
    engine: Engine | str | None = None,
) -> Verification:
    """Check whether a saved recommendation still holds on this machine with the current code.

    Alternates fresh runs of the recommended configuration and of its best alternative: the best
    single-device configuration if distribution is recommended, else the best distributed one, else
    the Keras defaults. Waits for other searches on this machine.

    Args:
        saved: `Result.saved()`, or the path of a saved `config.yaml`. Run it in the folder
            of the search, because factories are imported from there.
        seconds: Time limit, including the import of TensorFlow; stops earlier once the answer is
            clear.
        seed: Random seed of the order within each pair.
        observer: Called with each event, such as the start and end of a run.
        engine: Runs the programs: an engine, its name, or its URL. None uses this machine.

    Returns:
        The answer (holds, fails or unclear), the ratio with its 95% interval, and all runs.

    Raises:
        ConfigurationError: The file cannot be read.
        FactoryNotFound: A factory cannot be imported.
        UsageError: `seconds` is not a valid duration.
    """
    known = saved if isinstance(saved, SavedConfiguration) else load_configuration(Path(saved))
    options = SearchOptions(budget=parse_seconds(seconds), seed=seed)
    check_factories(known.workload)
    name = known.workload.name
    with reserved_engine(
        engine, name, lambda what: observer(notice_of(what)), seconds=options.budget
    ) as running:
        return _Check(known, running, observer, running.now()).run(options)


@dataclass(frozen=True)
class _Check:
    """One check of one recommendation."""

    saved: SavedConfiguration
    engine: Engine
    observer: Observer
    began: float

    def run(self, options: SearchOptions) -> Verification:
        self.observer(Preparing(what="Inspecting the machine"))
        machine = self.engine.machine()
        try:
            facts = self._facts()
        except (FactoryFailed, DatasetTooSmall) as exc:
            case = Case(saved=self.saved, machine=machine, facts=self.saved.facts)
            return self._result(case, _refuted(str(exc)))
        case = Case(saved=self.saved, machine=machine, facts=facts)
        if rule := case.why_illegal(self.saved.configuration):
            ground = f"the recommended configuration cannot run here: {rule_text(rule)}"
            return self._result(case, _refuted(ground))
        return self._result(case, self._compare(case, options))

    def _facts(self) -> WorkloadFacts:
        """Return what the factories give today; what they gave, where only their text is left."""
        if not callable_here(self.saved.workload):
            return self.saved.facts
        self.observer(Preparing(what="Calling model_fn and dataset_fn"))
        own = self.saved.configuration.for_factories()
        facts = self.engine.execute(InspectionRequest(self.saved.workload, offered=own))
        return facts.model_copy(update={"learning": self.saved.facts.learning})

    def _compare(self, case: Case, options: SearchOptions) -> Comparison:
        budget = Budget(options, self.engine.now, self.began)
        with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
            runner = Runner(
                self.engine,
                case.subject,
                TrialList(),
                folder=Path(folder),
                budget=budget,
                observer=self.observer,
            )
            winner, question = self.saved.configuration, question_of(case)
            return Contest(runner, budget, winner, question, seed=options.seed).run()

    def _result(self, case: Case, found: Comparison) -> Verification:
        saved = self.saved
        expected, rate = saved.examples_per_second, found.examples_per_second
        return Verification(
            **dict(found),
            verdict=saved.verdict,
            configuration=saved.configuration,
            margin=saved.margin,
            expected=expected,
            ratio_to_expected=unpaired_ratio(rate, expected) if rate and expected else None,
            notes=(*(notes_on_challenger(case) if found.trials else ()), *changes(case)),
            machine=case.machine,
            seconds=self.engine.now() - self.began,
        )


def _refuted(ground: str) -> Comparison:
    return Comparison(answer=Answer.FAILS, summary=sentence(f"{LEADS[Answer.FAILS]}: {ground}"))
