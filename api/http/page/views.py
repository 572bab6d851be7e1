"""What the pages show: the list of jobs, and one job as it runs and what it has found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

from autotune.answer import Answer, Verdict
from autotune.api.http.files import FILES
from autotune.api.requests import ListQuery
from autotune.api.values import LOCAL_PROJECT, JobDetail
from autotune.events import Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.result import Result
from autotune.result.html import parts, parts_so_far
from autotune.result.view import PHASES, Figure, expected, figure
from autotune.strategies import in_short
from autotune.text import clock, plural, rate, rate_with_error, roughly, sentence, share
from autotune.wire.events import Claimed, Event, Released, sentence_of
from autotune.wire.jobs import FINAL, Job, Page, State, Tuning

FILTERS: Mapping[str, list[State]] = {
    "All": [],
    "Waiting": [State.QUEUED],
    "Running": [State.RUNNING, State.CANCELLING],
    "Done": [State.DONE],
    "Failed": [State.FAILED],
    "Cancelled": [State.CANCELLED],
}
KINDS = tuple(kind.model_fields["kind"].default for kind in get_args(get_args(Event)[0]))
_APART = {"workload", "params", "space", "budget"}
"""What of a request has a place of its own among the facts."""
_STATES = {
    State.QUEUED: "Waiting for a worker",
    State.CANCELLING: "Being cancelled",
    State.DONE: "Done",
    State.CANCELLED: "Cancelled",
    State.FAILED: "Failed",
}


class Link(NamedTuple):
    text: str
    address: str
    current: bool = False


def list_view(page: Page, query: ListQuery) -> dict[str, Any]:
    """Return what the list shows."""
    first = query.model_copy(update={"before": None})
    workloads = sorted({*filter(None, [query.workload]), *(job.workload for job in page.tunings)})
    choices: dict[str, Mapping[str, Any]] = {
        "state": FILTERS,
        "workload": {"Any workload": None, **{each: each for each in workloads}},
        "verdict": {"Any answer": None, **{str(each).capitalize(): each for each in Verdict}},
    }
    return {
        "jobs": tuple(map(_row, page.tunings)),
        "filters": {
            name: [
                Link(text, _address(first, **{name: each}), each == getattr(query, name))
                for text, each in found.items()
            ]
            for name, found in choices.items()
        },
        "all": query == ListQuery(),
        "newest": _address(first) if query.before else None,
        "older": _address(first, before=page.next) if page.next else None,
        "unfinished": any(job.state not in FINAL for job in page.tunings),
    }


def _address(query: ListQuery, **changes: Any) -> str:
    asked = query.model_copy(update=changes).model_dump(mode="json", exclude_defaults=True)
    return f"/?{urlencode(asked, doseq=True)}" if asked else "/"


def _params_text(job: Job) -> str:
    return ", ".join(f"{name}={value}" for name, value in job.params.items())


def _space_name(job: Job) -> str:
    return job.space if isinstance(job.space, str) else job.space.name


def _row(job: Job) -> dict[str, Any]:
    return {
        "job": job,
        "settings": _settings(job),
        "short": job.summary or job.reason or _so_far(job),
        "took": clock(job.ended_at - job.started_at) if job.ended_at and job.started_at else "",
    }


def _so_far(job: Job) -> str:
    if job.state in FINAL or not job.trials:
        return ""
    best = {"one device": job.one_device, "distributed": job.distributed}
    found = [f"{name} {rate(value)}" for name, value in best.items() if value]
    figures = f"; best so far, in examples/s: {', '.join(found)}" if found else ""
    return f"{plural(job.trials, 'trial')}{figures}"


def job_view(detail: JobDetail) -> dict[str, Any]:
    """Return what the page of a job shows; `kinds` are the events by which it is followed."""
    job, found, phase = detail.job, detail.recommendation, _phase(detail)
    answer = _answer(detail)
    began = None if job.waiting else job.started_at
    moments = {"Created": job.created_at, "Began": began, "Ended": job.ended_at}
    return {
        "job": job,
        "phase": phase,
        "turn": _turn(detail),
        "news": " ".join(filter(None, (sentence(phase), job.summary or job.reason))),
        "kinds": KINDS,
        "spent": round(min(detail.spent, job.seconds), 1),
        "ticking": job.state is State.RUNNING and detail.spent > 0,
        "clocks": (clock(detail.spent), clock(job.seconds)),
        "running": _running(detail),
        "best": () if found or answer is None else tuple(_best(answer)),
        "downloads": _downloads(job.url, found) if found else {},
        "shown": parts(found) if found else parts_so_far(detail.trials, answer),
        "left_out": 0 if found else job.trials - len(detail.trials),
        "facts": _facts(job),
        "moments": {name: at for name, at in moments.items() if at},
        "events": [
            (e.at, sentence(text)) for e in reversed(detail.events) if (text := sentence_of(e.body))
        ],
    }


def _settings(job: Job) -> str:
    budget = f"budget {roughly(job.seconds)}" if job.budget else ""
    return ", ".join(filter(None, (_params_text(job), f"space {_space_name(job)}", budget)))


def _answer(detail: JobDetail) -> Answer | None:
    """Return the last answer of a search that goes on."""
    ended = (e.body for e in reversed(detail.events) if isinstance(e.body, TrialEnded))
    return next((each.answer for each in ended if each.answer), None)


def _best(answer: Answer) -> Iterator[Figure]:
    """Yield the leaders on one device and on several, with their ratios to the own settings."""
    for name, leader in (("one device", answer.one_device), ("distributed", answer.several)):
        if best := answer.entry(leader):
            ratio = expected(share(best.ratio), answer)
            note = f"{in_short(best.configuration)}, {ratio} times your own"
            text = rate_with_error(best.examples_per_second)
            yield figure(text, f"{name}, examples per second", note=note)


def _downloads(base: str, found: Result) -> dict[str, str]:
    programs = found.programs()
    paths = {name: f"script?part={part}" for part, (name, _) in FILES.items() if programs.get(name)}
    paths |= {"config.yaml": "config", "result.json": "result", "report.html": "report"}
    return {name: f"{base}/{path}" for name, path in paths.items()}


def _facts(job: Job) -> dict[str, str]:
    asked = {name: getattr(job, name) for name in Tuning.model_fields if name not in _APART}
    usual = Tuning(workload=job.workload)
    edited = ", edited while it was measured" if job.code_changed else ""
    known = {
        "Project": "" if job.project == LOCAL_PROJECT else job.project,
        "Parameters": _params_text(job),
        "Space": _space_name(job),
        "Budget": roughly(job.seconds) if job.budget else "",
        **{
            name.replace("_", " ").capitalize(): _listed(value)
            for name, value in asked.items()
            if value != getattr(usual, name)
        },
        "Devices": job.devices or "",
        "Code": f"{job.code}{edited}" if job.code else "",
        "Attempts": str(job.attempt) if job.attempt > 1 else "",
        "Id": job.id,
    }
    return {name: value for name, value in known.items() if value}


def _listed(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _phase(detail: JobDetail) -> str:
    text = _STATES.get(detail.job.state)
    if text is not None:
        return text
    found = filter(None, (_phase_of(event.body) for event in reversed(detail.events)))
    return next(found, "Running")


def _phase_of(what: Event) -> str | None:
    match what:
        case TrialStarted(stage=stage):
            return PHASES[stage]
        case TrialEnded(trial=trial):
            return PHASES[trial.stage]
        case Preparing(what=doing):
            return doing
        case Notice(text=text):
            return text.rstrip(".")
        case Planned() | Claimed():
            return "Starting"
    return None


def _turn(detail: JobDetail) -> float | None:
    """Return when a job's turn on its machine comes at the latest, if that is known."""
    bodies = (each.body for each in reversed(detail.events))
    last = next((each for each in bodies if isinstance(each, Notice | Claimed | Released)), None)
    wait = last.waiting if isinstance(last, Notice) and detail.job.waiting else None
    return wait.until if wait else None


def _running(detail: JobDetail) -> tuple[float, TrialStarted] | None:
    if detail.job.state is not State.RUNNING:
        return None
    for event in reversed(detail.events):
        if isinstance(event.body, TrialStarted):
            return event.at, event.body
        if isinstance(event.body, TrialEnded | Claimed | Released):
            return None
    return None
