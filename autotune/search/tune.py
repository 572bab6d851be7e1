"""From a request to a recommendation: what every face of autotune calls."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from autotune.errors import OutputError, UsageError
from autotune.measure import Interval
from autotune.recommendation import Recommendation, Verdict
from autotune.run.engine import Engine
from autotune.script import render
from autotune.search.budget import Budget
from autotune.search.events import Notice, Observer, Planned, Preparing, nobody
from autotune.search.lock import Claim, claims
from autotune.search.plan import Plan, plan
from autotune.search.reasons import reasons, summary
from autotune.search.request import TuningRequest
from autotune.search.runner import Runner
from autotune.search.search import Findings, Search
from autotune.search.study import FACTORIES, Study, Wanted, check_name, open_study
from autotune.search.subject import Subject
from autotune.search.twins import Twins, twins
from autotune.space import (
    AUTO,
    Candidates,
    Space,
    candidates,
    check_arguments,
    load_space,
    space_for,
)

__all__ = ["TuningRequest", "dry_run", "tune"]

SAME = Interval(low=1.0, value=1.0, high=1.0)
"""The speed-up of the best single device over itself."""


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    subject: Subject
    space: Space
    found: Candidates
    twins: Twins
    plan: Plan


def dry_run(request: TuningRequest, engine: Engine, observer: Observer = nobody) -> Plan:
    """Return the card of a search without running it.

    Raises:
        UsageError: Workload, space or options are wrong.
    """
    return _prepare(request, engine, observer).plan


def tune(request: TuningRequest, engine: Engine, observer: Observer = nobody) -> Recommendation:
    """Search, decide, and write the files.

    Raises:
        UsageError: The request is wrong; nothing was run.
        NothingMeasured: No configuration could be measured.
        Interrupted: Stopped before anything was measured.
    """
    began = engine.now()
    _check_output(request)
    prepared = _prepare(request, engine, observer)
    with claims(request.out) as claim:
        study = _open(request, prepared, claim, observer)
        ready = engine.now() - began
        observer(Planned(prepared.plan, tuple(study.trials)))
        budget = Budget(request.options, engine.now, began)
        folder = request.out / "trials" / study.name
        runner = Runner(
            engine, prepared.subject, study, folder=folder, budget=budget, observer=observer
        )
        try:
            findings = Search(runner, budget, prepared.found, prepared.twins, request.options).run()
            result = _recommendation(
                request, prepared.subject, findings, study, budget.elapsed, ready
            )
            result.save(request.out)
        finally:
            study.flush()
    return result


def _prepare(request: TuningRequest, engine: Engine, observer: Observer) -> _Prepared:
    named = _named(request.space)
    check_arguments(request.workload, named.own_axes if named else ())
    observer(Preparing("Looking at the machine"))
    machine = engine.machine()
    space = named or space_for(machine)
    observer(Preparing("Calling the model and the dataset factory"))
    facts = engine.inspect(
        request.workload, offered={name: space.values(name)[0] for name in space.own_axes}
    )
    found = candidates(space, machine, facts, request.options.constraints)
    subject = Subject(workload=request.workload, facts=facts, machine=machine)
    card = plan(subject, space, found, request.options)
    level = twins(found, subject, request.options.constraints)
    return _Prepared(subject=subject, space=space, found=found, twins=level, plan=card)


def _named(space: str | Space) -> Space | None:
    """Return the space that was asked for, or None where the machine decides."""
    if isinstance(space, Space):
        return space
    return None if space == AUTO else load_space(space)


def _open(request: TuningRequest, prepared: _Prepared, claim: Claim, observer: Observer) -> Study:
    subject = prepared.subject
    wanted = Wanted(
        url=request.storage or f"sqlite:///{(request.out / 'study.db').resolve()}",
        name=request.study,
        base=_plain(subject.workload.name),
        resume=request.resume,
        identity={
            FACTORIES: subject.workload.identity,
            "workload": subject.workload.fingerprint(subject.facts),
            "machine": subject.machine.fingerprint,
            "space": prepared.space.model_dump_json(),
            "set of bounds": request.options.constraints.model_dump_json(),
        },
    )
    pool = (*prepared.found.configurations, *prepared.twins.values())
    return open_study(wanted, pool, claim, lambda text: observer(Notice(text)))


def _recommendation(
    request: TuningRequest,
    subject: Subject,
    findings: Findings,
    study: Study,
    seconds: float,
    ready: float,
) -> Recommendation:
    decision, chosen = findings.decision, findings.recommended
    program = render(chosen, subject.workload, subject.facts, subject.machine)
    return Recommendation(
        config=chosen,
        verdict=decision.verdict,
        summary=summary(findings, request.options.margin),
        reasons=reasons(findings, request.options.constraints.global_batch),
        examples_per_second=findings.examples_per_second,
        speedup=decision.gain if decision.verdict is Verdict.DISTRIBUTE else SAME,
        best_distributed=decision.challenger,
        distributed_speedup=decision.gain,
        over_default=findings.over_default,
        script=program.train,
        launch=program.launch,
        trials=tuple(study.trials),
        workload=subject.workload,
        facts=subject.facts,
        machine=subject.machine,
        study=study.name,
        seed=request.options.seed,
        seconds=seconds,
        prepared_seconds=ready,
        interrupted=findings.interrupted,
    )


def _check_output(request: TuningRequest) -> None:
    """Fail before the search, not after it."""
    if request.study is not None:
        check_name(request.study)
    try:
        request.out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise OutputError(
            f"{request.out} cannot be made: {exc.strerror or exc}.", "Choose another --out."
        ) from exc
    if not os.access(request.out, os.W_OK | os.X_OK):
        raise OutputError(f"{request.out} cannot be written.", "Choose another --out.")
    if request.options.seconds is None and request.options.max_trials is None:
        raise UsageError("The search has no end.", "Give a --budget or --max-trials.")


def _plain(name: str) -> str:
    """A study's name from a factory's: `digits` from `digits:model_fn`."""
    return re.sub(r"\W*[^\w.-]\W*", "-", name.partition(":")[0]).strip("-.") or "autotune"
