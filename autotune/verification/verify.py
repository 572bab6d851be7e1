"""Whether a saved recommendation still holds: what every face of autotune calls."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.interrupts import interruptible
from autotune.engine.resolve import reserved_engine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.errors import FactoryNotFound, NotVerified, WorkloadError
from autotune.events import Observer, Preparing, as_notices, nobody
from autotune.installed import VERSION
from autotune.objective import objective_named
from autotune.options import SearchOptions
from autotune.reason.sentences import rule_text
from autotune.result import SavedConfiguration, load_configuration
from autotune.result.saved import located
from autotune.search.request import Subject, calling
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.space import Situation
from autotune.stats.intervals import unpaired_ratio
from autotune.text import parse_seconds, sentence
from autotune.value import Value
from autotune.verification.answer import Answer, Comparison, Verification
from autotune.verification.contest import Contest, Question
from autotune.workload import Workload, WorkloadFacts, own_batch

SECONDS = 50.0
"""Wall time of a check, TensorFlow's import included."""


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
    seed: int = 0,
    observer: Observer = nobody,
    engine: Engine | str | None = None,
) -> Verification:
    """Check whether a saved recommendation still holds on this machine with the current code.

    Alternates fresh runs of the recommended configuration and of its best alternative: the best
    single-device configuration if distribution is recommended, else the best distributed one, else
    the Keras defaults. Waits for other searches on this machine.

    Args:
        saved: `Result.saved()`, or the path of a saved `config.yaml`. Script and modules are
            looked for beside it, in the folders above it, and in the working folder, and run in
            the one where they are found.
        seconds: Time limit, including the import of TensorFlow; stops earlier once the answer is
            clear.
        seed: Random seed of the order within each pair.
        observer: Called with each event, such as the start and end of a run.
        engine: Runs the programs: an engine, its name, or its URL. None uses this machine.

    Returns:
        The answer (holds, fails or unclear), the ratio with its 95% interval, and all runs.

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
    options = SearchOptions(budget=parse_seconds(seconds), seed=seed)
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
        return self._result(where, self._compare(where, options))

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

    def _compare(self, where: Situation, options: SearchOptions) -> Comparison:
        saved = self.saved
        subject = Subject(
            workload=saved.workload,
            facts=where.facts,
            machine=where.machine,
            objective=objective_named(saved.objective),
        )
        with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
            runner = Runner(
                self.engine,
                subject,
                Study(),
                folder=Path(folder),
                budget=Budget(options, self.engine.now, self.began),
                observer=self.observer,
            )
            question = question_of(saved, where)
            return Contest(runner, saved.configuration, question, seed=options.seed).run()

    def _result(self, where: Situation, found: Comparison) -> Verification:
        saved = self.saved
        expected, rate = saved.examples_per_second, found.examples_per_second
        notes = [*_on_challenger(saved, where)] if found.trials else []
        return Verification(
            **dict(found),
            verdict=saved.verdict,
            configuration=saved.configuration,
            margin=saved.margin,
            expected=expected,
            ratio_to_expected=unpaired_ratio(rate, expected) if rate and expected else None,
            notes=(*notes, *_changes(saved, where)),
            machine=where.machine,
            seconds=self.engine.now() - self.began,
        )


def question_of(saved: SavedConfiguration, where: Situation) -> Question | None:
    """Return what to ask, or None where there is nothing to compare with."""
    challenger, margin = _challenger(saved), saved.margin
    if challenger is None or where.why_illegal(challenger):
        return None if saved.configuration.distributed else _against_defaults(saved, where)
    if saved.configuration.distributed:
        return Question(
            challenger=challenger,
            holds_above=1.0,
            fails_below=1 + margin,
            mine="distributed training is",
            theirs="the best single device",
            consequences={Answer.FAILS: f", a gain of less than {margin:.0%}"},
        )
    bound = 1 / (1 + margin)
    return Question(
        challenger=challenger,
        holds_above=bound,
        fails_below=bound,
        mine="one device is",
        theirs="the best distributed configuration",
        consequences={
            Answer.HOLDS: f", so distribution gains less than {margin:.0%}",
            Answer.FAILS: f", so distribution gains more than {margin:.0%}",
        },
    )


def _challenger(saved: SavedConfiguration) -> Configuration | None:
    return saved.one_device if saved.configuration.distributed else saved.best_distributed


def _against_defaults(saved: SavedConfiguration, where: Situation) -> Question | None:
    winner, facts = saved.configuration, where.facts
    # With the batch that the search has taken for the user's own, where there was one.
    batch = facts.learning.batch if facts.learning else own_batch(facts).size
    # Values of the user's own axes have no default.
    own = tuple(winner.own_values().items())
    challenger = Configuration(per_replica_batch=batch, arguments=own)
    if challenger == winner or where.why_illegal(challenger):
        return None
    return Question(
        challenger=challenger,
        holds_above=1.0,
        fails_below=1.0,
        mine="the recommended settings are",
        theirs=f"the Keras defaults at a batch of {batch}",
    )


def _on_challenger(saved: SavedConfiguration, where: Situation) -> Iterator[str]:
    """Yield that the configuration to compare with cannot run here."""
    challenger = _challenger(saved)
    kind = "single device" if saved.configuration.distributed else "distributed configuration"
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
