"""From a request to a recommendation: what every face of autotune calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autotune.config import Configuration, describe
from autotune.disk import trouble
from autotune.engine.base import Engine
from autotune.engine.interrupts import uninterrupted
from autotune.engine.load import together, warning
from autotune.engine.tasks.inspect import InspectionRequest, inspected
from autotune.errors import UsageError
from autotune.events import Notice, Observer, Planned, Preparing, nobody
from autotune.objective import Batches, objective_named
from autotune.options import SearchOptions
from autotune.plan import AxisPlan, Plan, StrategyPlan
from autotune.program import render
from autotune.reason import Rule, RuleKind, nearest_batch
from autotune.reason.sentences import rule_text
from autotune.result import Result
from autotune.result.data import Unsaved
from autotune.result.files import put_each
from autotune.search.costs import Costs, expected_start, seconds_to_verdict
from autotune.search.design import own_default, plain
from autotune.search.findings import Findings, evidence
from autotune.search.opening import alone_in, open_study
from autotune.search.profiling import Profiler, patch_of, reserved_seconds, tried
from autotune.search.request import Subject, TuningRequest, calling, check, lacking, named_space
from autotune.search.runner import Runner
from autotune.search.sampler import sampler_named
from autotune.search.search import Search
from autotune.search.stopping import (
    INTERRUPTIONS,
    Budget,
    Interruption,
    interruption,
)
from autotune.search.study import Study
from autotune.space import Candidates, Space, candidates, space_for
from autotune.space.origin import choices, origins
from autotune.stats.gradients import Learning, Unpredictable
from autotune.strategies import is_nearest, strategy
from autotune.trial import Trial
from autotune.workload import BatchSource, WorkloadFacts, own_batch

__all__ = ["TuningRequest", "dry_run", "tune"]


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    request: TuningRequest
    """With options that the workload can be trained with."""
    subject: Subject
    space: Space
    found: Candidates

    def plan(self, spent: float, trials: Sequence[Trial] = ()) -> Plan:
        """Return the plan after so many seconds, with what trials let expect of the time."""
        subject, found, options = self.subject, self.found, self.request.options
        costs = Costs(trials, expected_start(subject.facts))
        default = own_default(found.one_device, subject.facts, options)
        several = found.distributed
        enough = seconds_to_verdict(default, several, costs, options) if several else None
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
            enough_seconds=None if enough is None else spent + enough,
        )

    @property
    def weighs(self) -> bool:
        """Whether batches are compared by what an example teaches there."""
        return self.subject.objective.batches is not Batches.ALIKE

    @property
    def default(self) -> Configuration:
        """One device with the user's own batch, or the closest that can run; plainly compiled."""
        pool = self.found.one_device
        return plain(own_default(pool, self.subject.facts, self.request.options), pool)

    def foreknown(self, known: Learning | None) -> Learning | None:
        """Return what is known of other batch sizes without a look; None where one is needed.

        What an earlier session of the same search has found is not looked for again.
        """
        batch, fixed = self.default.global_batch, self.request.options.global_batch is not None
        if fixed or self.subject.objective.batches is not Batches.WEIGHED:
            return Learning(batch=batch)
        if known and known.batch == batch and known.refused is not Unpredictable.NO_TIME:
            return known.model_copy(update={"seconds": 0.0})
        return None

    def knowing(self, learning: Learning) -> _Prepared:
        """Return it with what is known of other batch sizes, and only those that it compares."""
        facts = self.subject.facts.model_copy(update={"learning": learning})
        subject = replace(self.subject, facts=facts)
        rule = Rule(kind=RuleKind.OTHER_BATCH, figure=learning.batch)
        found = self.found.only(subject.scorer.compares, rule)
        return replace(self, subject=subject, found=found)


def dry_run(request: TuningRequest, engine: Engine, observer: Observer = nobody) -> Plan:
    """Return the card of a search without running it.

    Raises:
        UsageError: Workload, space or options are wrong.
    """
    began = engine.now()
    prepared = _prepare(request, engine, observer, began)
    return prepared.plan(engine.now() - began)


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
    pool = (*found.configurations, *found.batch_matched.values())
    study = open_study(
        request, subject, prepared.space, pool, lambda text: observer(Notice(text=text))
    )
    learning = prepared.foreknown(study.learning)
    if learning and prepared.weighs:
        prepared = prepared.knowing(learning)
    ready = engine.now() - began
    kept = tuple(study.trials)
    observer(Planned(plan=prepared.plan(ready, kept), kept=kept))
    if busy := warning(engine.load()):
        observer(Notice(text=busy))
    whole = Budget(request.options, engine.now, began)
    session = _Session(engine, study, whole, observer)
    try:
        prepared, cut = session.begun(prepared)
        runner, search = session.search(prepared)
        findings = search.findings(cut) if cut else search.run()
        findings = replace(findings, patch=patch_of(findings.recommended, prepared.subject))
        if request.options.diagnose and findings.cut is None:
            try:
                findings = tried(findings, runner, whole)
                findings = Profiler(runner, whole, prepared.found).run(findings)
            except INTERRUPTIONS as exc:
                interruption(exc)  # What was found is handed over all the same.
        with uninterrupted():
            return _saved(_result(prepared, findings, runner, ready), request, findings.cut)
    finally:
        with uninterrupted():
            study.flush()


@dataclass(frozen=True)
class _Session:
    """What makes the trials of a search."""

    engine: Engine
    study: Study
    whole: Budget
    observer: Observer

    def search(self, prepared: _Prepared) -> tuple[Runner, Search]:
        """Return a search that goes on from all trials of the study."""
        request, options = prepared.request, prepared.request.options
        budget = replace(self.whole, held=lambda: reserved_seconds(options, runner.history))
        runner = Runner(
            self.engine,
            prepared.subject,
            self.study,
            folder=request.out / "trials" / self.study.name,
            budget=budget,
            observer=self.observer,
            most_memory=options.max_memory,
        )
        return runner, Search(
            runner,
            prepared.found,
            options,
            sampler=request.sampler or sampler_named(options.sampler, options.seed),
            pruner=request.pruner,
        )

    def begun(self, prepared: _Prepared) -> tuple[_Prepared, Interruption | None]:
        """Return what is known of other batches, and what ended that early.

        The user's own configuration is measured before anybody looks at how it learns.
        """
        if prepared.weighs and prepared.subject.facts.learning is None:
            try:
                runner, search = self.search(prepared)
                search.begin()
                learning = runner.learn(prepared.default, seed=prepared.request.options.seed)
                known = prepared.knowing(learning)
                if not learning.refused and known.found.excluded:
                    out = "where the gradients do not tell what an example teaches"
                    text = f"Other batches than {learning.batch} are left out {out}."
                    self.observer(Notice(text=text))
                prepared = known
            except INTERRUPTIONS as exc:
                return prepared, interruption(exc)
        if found := prepared.subject.facts.learning:
            self.study.learning = found
            self.study.value = prepared.subject.scorer.value
        return prepared, None


def _result(prepared: _Prepared, findings: Findings, runner: Runner, ready: float) -> Result:
    request, subject, study = prepared.request, prepared.subject, runner.study
    decision, chosen, patch = findings.decision, findings.recommended, findings.patch
    chosen_by = choices(subject.machine, subject.facts)
    program = render(chosen, subject.workload, subject.facts, subject.machine)
    return Result(
        configuration=chosen,
        verdict=decision.verdict,
        evidence=evidence(findings, subject.objective, together(runner.loads)),
        diagnosis=findings.diagnosis,
        between=findings.between,
        examples_per_second=findings.examples_per_second,
        objective=request.options.objective,
        value=findings.value,
        best_distributed_speedup=decision.gain,
        one_device=findings.baseline,
        best_distributed=decision.challenger,
        gain_over_yours=findings.gain_over_yours,
        script=program.train,
        launch=program.launch,
        patch=patch.text,
        patch_notes=tuple(filter(None, (patch.ran, patch.differs))) if patch.text else (),
        patch_gain=patch.gain,
        why_no_patch=patch.why_not,
        trials=tuple(study.trials),
        compared=tuple(
            each.model_copy(update={"origins": origins(each.configuration, chosen_by)})
            for each in findings.entries
        ),
        workload=subject.workload,
        facts=subject.facts,
        machine=subject.machine,
        study=study.name,
        seconds=runner.budget.elapsed,
        prepared_seconds=ready,
        interrupted=findings.cut is not None,
        certificate=findings.certificate,
        space=request.space if isinstance(request.space, str) else None,
        options=request.options,
        margin=request.options.margin,
        seed=request.options.seed,
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
    named = named_space(request)
    if text := lacking(request.workload):
        observer(Notice(text=text))
    observer(Preparing(what="Inspecting the machine"))
    machine = engine.machine()
    space = named or space_for(machine)
    observer(calling(request.workload))
    first = Configuration().taking({name: values[0] for name, values in space.axes.items()})
    data = {"unbatch": request.options.unbatch, "examples": request.options.examples}
    workload = request.workload.model_copy(update=data)
    # For each step of the inspection; a longer budget is for a model that takes long to build.
    patience = max(60.0, request.options.budget or 0.0)
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
    subject = Subject(workload=workload, facts=facts, machine=machine, objective=objective)
    return _Prepared(
        request=request.model_copy(update={"options": options}),
        subject=subject,
        space=space,
        found=found,
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
