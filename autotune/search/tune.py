"""From a request to a recommendation: what every face of autotune calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autotune.answer import Answer
from autotune.config import Configuration, describe
from autotune.disk import put_each, trouble
from autotune.engine.base import Engine
from autotune.engine.load import warning
from autotune.engine.resolve import uninterrupted
from autotune.engine.tasks import InspectionRequest, inspected
from autotune.errors import UsageError
from autotune.events import Notice, Observer, Planned, Preparing, nobody
from autotune.objective import Batches, objective_named
from autotune.options import SearchOptions
from autotune.plan import AxisPlan, Plan, StrategyPlan
from autotune.program import render
from autotune.reason import Rule, RuleKind, nearest_batch
from autotune.reason.sentences import rule_text
from autotune.result import Result
from autotune.result.stored import Unsaved
from autotune.search.profiling import Extras, patch_of
from autotune.search.resume import alone_in, open_study
from autotune.search.search import Search
from autotune.search.session import Session
from autotune.search.setup import (
    Subject,
    TuningRequest,
    calling,
    check,
    lacking,
    made_for,
    named_space,
    own_default,
    plain,
)
from autotune.search.stopping import INTERRUPTIONS, Budget, Interruption, interruption
from autotune.search.trials import Costs, expected_start, too_short
from autotune.space import Candidates, Space, candidates, space_for
from autotune.strategies import is_nearest, strategy
from autotune.trial import Trial
from autotune.workload import BatchSource, WorkloadFacts, length_of, own_batch, own_rate

__all__ = ["TuningRequest", "dry_run", "tune"]

INSPECTION_SECONDS = 180.0
"""Longest time of a step of the inspection, where no budget says it."""


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    request: TuningRequest
    """With options that the workload can be trained with."""
    subject: Subject
    space: Space
    found: Candidates
    made_for: Mapping[str, str]
    """As it was before anything ran."""

    def plan(self, trials: Sequence[Trial] = ()) -> Plan:
        """Return the plan, with what trials let expect of the time."""
        subject, found, options = self.subject, self.found, self.request.options
        costs = Costs(trials, expected_start(subject.facts))
        default = own_default(found.one_device, subject.facts, options)
        legal = [each.strategy for each in found.configurations]
        names = dict.fromkeys([*legal, *(limit.strategy for limit in found.limits)])
        own = own_batch(subject.facts, options.global_batch).size
        return Plan(
            workload=subject.workload.name,
            machine=subject.machine,
            space=self.space.name,
            objective=options.objective,
            facts=subject.facts,
            strategies=tuple(_strategy_plan(name, found, own) for name in names),
            budget_seconds=options.budget,
            exhaustive_seconds=costs.total(found.configurations),
            trial_seconds=costs.seconds(default),
            tracing_seconds=costs.first_call(default),
            length=subject.length,
            training_seconds=self.training_seconds,
        )

    @property
    def training_seconds(self) -> float | None:
        """Rough time of the training; None where only a run tells."""
        return self.subject.length.seconds_at(own_rate(self.subject.facts))

    @property
    def default(self) -> Configuration:
        """One device with the user's own batch, or the closest that can run; plainly compiled."""
        pool = self.found.one_device
        return plain(own_default(pool, self.subject.facts, self.request.options), pool)


def dry_run(request: TuningRequest, engine: Engine, observer: Observer = nobody) -> Plan:
    """Return the card of a search without running it.

    Raises:
        UsageError: Workload, space or options are wrong.
    """
    began = engine.now()
    prepared = _prepare(request, engine, observer, began)
    return prepared.plan()


def tune(request: TuningRequest, engine: Engine, observer: Observer = nobody) -> Result:
    """Search, decide, and write the files if they are wanted.

    Reserve the engine before, if others may be timing there.

    Raises:
        UsageError: The request is wrong, or another search runs in its folder; nothing was run.
        NothingMeasured: No configuration could be measured.
        Interrupted: Stopped before anything was measured.
    """
    began = engine.now()
    engine.load()  # so that the next call tells of the time from here
    check(request)
    prepared = _prepare(request, engine, observer, began)
    with alone_in(request.out):
        return _tune(prepared, engine, observer, began)


def _tune(prepared: _Prepared, engine: Engine, observer: Observer, began: float) -> Result:
    request, subject, found = prepared.request, prepared.subject, prepared.found
    pool = found.configurations
    study = open_study(
        request, subject, prepared.space, pool, lambda text: observer(Notice(text=text))
    )
    whole = Budget(request.options, engine.now, began)
    session = Session(
        request=request,
        engine=engine,
        study=study,
        budget=whole,
        observer=observer,
        own=prepared.default,
    )
    subject, found = session.begin(subject, found)
    prepared = replace(prepared, subject=subject, found=found)
    ready = engine.now() - began
    kept = tuple(study.trials)
    observer(Planned(plan=prepared.plan(kept), kept=kept))
    if busy := warning(engine.load()):
        observer(Notice(text=busy))
    try:
        search = session.run(subject, found)
        answer = search.end()
        extras = Extras(patch=patch_of(answer.recommended, search.runner.subject))
        if search.cut is None:
            try:
                extras.measure(answer, search.runner, whole, search.candidates)
            except INTERRUPTIONS as exc:
                interruption(exc)  # What was found is handed over all the same.
        if extras.between is not None:
            search.runner.subject = search.runner.subject.pausing(extras.between)
            answer = search.end()
        with uninterrupted():
            result = _result(prepared, answer, extras, search, ready)
            return _saved(result, request, search.cut)
    finally:
        with uninterrupted():
            study.flush()


def _result(
    prepared: _Prepared, answer: Answer, extras: Extras, search: Search, ready: float
) -> Result:
    request, subject, patch = prepared.request, search.runner.subject, extras.patch
    chosen, runner = answer.recommended, search.runner
    program = render(chosen, subject.workload, subject.facts, subject.machine)
    return Result(
        configuration=chosen,
        answer=answer,
        diagnosis=extras.diagnosis,
        between=extras.between,
        objective=request.options.objective,
        script=program.train,
        launch=program.launch,
        patch=patch.text,
        patch_notes=tuple(filter(None, (patch.ran, patch.differs))) if patch.text else (),
        patch_gain=patch.gain,
        why_no_patch=patch.why_not,
        trials=tuple(runner.study.trials),
        workload=subject.workload,
        facts=subject.facts,
        machine=subject.machine,
        study=runner.study.name,
        made_for=prepared.made_for,
        prepared_seconds=ready,
        certificate=search.certification.of(chosen),
        space=request.space if isinstance(request.space, str) else None,
        options=request.options,
        margin=request.options.margin,
    )


def _saved(result: Result, request: TuningRequest, cut: Interruption | None) -> Result:
    """Write the files of a result, as far as the disk takes them, and say what it did not take."""
    failed = put_each(request.out, result.texts()) if request.files else {}
    error = next(iter(failed.values()), cut)
    if not isinstance(error, OSError):
        return result
    cause = trouble(error, request.out).cause
    return result.model_copy(update={"unsaved": Unsaved(cause=cause, files=tuple(failed))})


def _prepare(request: TuningRequest, engine: Engine, observer: Observer, began: float) -> _Prepared:
    named, holds_for = named_space(request), made_for(request)
    for text in filter(None, (lacking(request.workload), too_short(request.options.train_for))):
        observer(Notice(text=text))
    observer(Preparing(what="Inspecting the machine"))
    machine = engine.machine()
    space = named or space_for(machine)
    observer(calling(request.workload))
    first = Configuration().taking({name: values[0] for name, values in space.axes.items()})
    said = {name: getattr(request.options, name) for name in ("unbatch", "examples", "epochs")}
    workload = request.workload.model_copy(update=said)
    # For each step of the inspection; a longer budget is for a model that takes long to build.
    patience = max(60.0, request.options.budget or INSPECTION_SECONDS)
    facts = inspected(
        engine,
        InspectionRequest(
            workload,
            offered=first.for_factories(),
            seconds=patience,
            whole=Budget(request.options, engine.now, began).most,
        ),
    )
    options = _bound_by(facts, request.options)
    objective = objective_named(options.objective)
    divided = objective.batches is not Batches.ALIKE
    found = candidates(space, machine, facts, options, divided=divided)
    length = length_of(facts, epochs=options.epochs, train_for=options.train_for)
    subject = Subject(
        workload=workload, facts=facts, machine=machine, objective=objective, length=length
    )
    return _Prepared(
        request=request.model_copy(update={"options": options}),
        subject=subject,
        space=space,
        found=found,
        made_for=holds_for,
    )


def _bound_by(facts: WorkloadFacts, options: SearchOptions) -> SearchOptions:
    """Return the options, with the one global batch that a script can train with.

    Raises:
        UsageError: Another one was asked for.
    """
    only = facts.fit and facts.fit.only_batch
    own = own_batch(facts)
    # Where nobody has said what the own batch is, the option says it.
    if facts.summed_loss and not (options.global_batch and own.source is BatchSource.KERAS):
        only = own.size
    if not only or options.global_batch == only:
        return options
    if options.global_batch and facts.summed_loss:
        why = rule_text(Rule(kind=RuleKind.SUMMED_LOSS))
        raise UsageError(
            f"A global batch of {options.global_batch} instead of {only} cannot be tried: {why}.",
            "Omit --global-batch, or take the mean over the batch: in a train_step by "
            "tf.nn.compute_average_loss without global_batch_size, of a loss of Keras by "
            'reduction="sum_over_batch_size".',
        )
    if options.global_batch:
        raise UsageError(
            f"The script can only train with its own batches of {only}, not with a global batch of "
            f"{options.global_batch}: others cannot be made of its data.",
            "Omit --global-batch, or set the batch in the script itself.",
        )
    return options.model_copy(update={"global_batch": only})


def _strategy_plan(name: str, found: Candidates, own: int) -> StrategyPlan:
    mine = [c for c in found.configurations if c.strategy == name]
    changed = dict.fromkeys(c.replicas for c in mine if is_nearest(c, own))
    axes = dict.fromkeys(axis for configuration in mine for axis in configuration.values())
    values = {axis: tuple(dict.fromkeys(each[axis] for each in mine)) for axis in axes}
    return StrategyPlan(
        name=name,
        title=strategy(name).title,
        configurations=len(mine),
        axes=tuple(
            AxisPlan(name=axis, values=several, meaning=describe(axis))
            for axis, several in values.items()
            if len(several) > 1
        ),
        limits=tuple(limit for limit in found.limits if limit.strategy == name),
        changes=tuple(nearest_batch(own, replicas) for replicas in changed),
    )
