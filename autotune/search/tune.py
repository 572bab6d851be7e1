"""From a request to a recommendation: what every face of autotune calls."""

from __future__ import annotations

import os
from dataclasses import dataclass

from autotune.errors import OutputError, UsageError
from autotune.measure import Interval
from autotune.recommendation import Recommendation, Verdict
from autotune.run.engine import Engine
from autotune.script import render
from autotune.search.budget import Budget
from autotune.search.events import Observer, Planned, Preparing, nobody
from autotune.search.plan import Plan, plan
from autotune.search.reasons import reasons, summary
from autotune.search.request import TuningRequest
from autotune.search.runner import Runner
from autotune.search.search import Findings, Search
from autotune.search.study import Study, open_study
from autotune.search.subject import Subject
from autotune.space import Candidates, Space, candidates, load_space

__all__ = ["TuningRequest", "dry_run", "tune"]

SAME = Interval(low=1.0, value=1.0, high=1.0)
"""The speed-up of the best single device over itself."""


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    subject: Subject
    space: Space
    found: Candidates
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
    study = _open(request, prepared)
    ready = engine.now() - began
    observer(Planned(prepared.plan, len(study.trials), tuple(study.trials)))
    budget = Budget(request.options, engine.now, began)
    folder = request.out / "trials" / study.name
    runner = Runner(
        engine, prepared.subject, study, folder=folder, budget=budget, observer=observer
    )
    try:
        findings = Search(runner, budget, prepared.found, request.options).run()
    finally:
        study.flush()
    result = _recommendation(request, prepared.subject, findings, study, budget.elapsed, ready)
    result.save(request.out)
    return result


def _prepare(request: TuningRequest, engine: Engine, observer: Observer) -> _Prepared:
    observer(Preparing("Looking at the machine"))
    machine = engine.machine()
    space = request.space
    space = load_space(space, machine) if isinstance(space, str) else space
    observer(Preparing("Calling the model and the dataset factory"))
    facts = engine.inspect(
        request.workload, offered={name: space.values(name)[0] for name in space.own_axes}
    )
    found = candidates(space, machine, facts, request.options.constraints)
    subject = Subject(workload=request.workload, facts=facts, machine=machine)
    card = plan(subject, space, found, request.options)
    return _Prepared(subject=subject, space=space, found=found, plan=card)


def _open(request: TuningRequest, prepared: _Prepared) -> Study:
    subject = prepared.subject
    return open_study(
        request.storage or f"sqlite:///{(request.out / 'study.db').resolve()}",
        request.study,
        {
            "workload": subject.workload.fingerprint(subject.facts),
            "machine": subject.machine.fingerprint,
            "space": prepared.space.model_dump_json(),
            "set of bounds": request.options.constraints.model_dump_json(),
        },
        prepared.found.configurations,
        base=_plain(subject.workload.name),
        resume=request.resume,
    )


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
    return name.partition(":")[0].replace("/", "-") or "autotune"
