"""One job: as it runs, and what it has found."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from autotune.api.events import Claimed, Event, Released, sentence_of
from autotune.api.http.files import FILES
from autotune.api.http.page.listing import label_links, params_text, space_name
from autotune.api.states import State
from autotune.api.values import LOCAL_PROJECT, Job, JobDetail
from autotune.events import Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.result import Result
from autotune.result.html import parts, parts_so_far
from autotune.result.leaderboard import Entry, Leaderboard
from autotune.result.view import PHASES, Figure, figure
from autotune.strategies import in_short
from autotune.text import clock, rate_with_error, roughly, sentence, share
from autotune.trial import Trial

KINDS = tuple(kind.model_fields["kind"].default for kind in get_args(get_args(Event)[0]))
MOST_OUTPUTS = 20
"""Of the trials that failed; the others are at their addresses."""
_STATES = {
    State.QUEUED: "Waiting for a worker",
    State.CANCELLING: "Being cancelled",
    State.DONE: "Done",
    State.CANCELLED: "Cancelled",
    State.FAILED: "Failed",
}


def job_view(detail: JobDetail) -> dict[str, Any]:
    """Return what the page of a job shows; `kinds` are the events by which it is followed."""
    job, found, phase = detail.job, detail.recommendation, _phase(detail)
    leaderboard = Leaderboard(detail.trials, found.one_device if found else None)
    moments = {"Created": job.created_at, "Began": job.started_at, "Ended": job.ended_at}
    return {
        "job": job,
        "phase": phase,
        "news": " ".join(filter(None, (sentence(phase), job.summary or job.reason))),
        "kinds": KINDS,
        "spent": round(min(detail.spent, job.seconds), 1),
        "ticking": job.state is State.RUNNING and detail.spent > 0,
        "clocks": (clock(detail.spent), clock(job.seconds)),
        "running": _running(detail),
        "best": () if found else tuple(_best(leaderboard)),
        "downloads": _downloads(job.url, found) if found else {},
        "shown": parts(found) if found else parts_so_far(leaderboard),
        "outputs": _outputs(detail.trials),
        "left_out": "" if found else left_out(job.trials - len(detail.trials)),
        "facts": _facts(job),
        "labels": label_links(job),
        "once": secrets.token_urlsafe(18),
        "moments": {name: at for name, at in moments.items() if at},
        "history": [
            (e.at, sentence(text)) for e in reversed(detail.events) if (text := sentence_of(e.body))
        ],
    }


def left_out(count: int) -> str:
    if count <= 0:
        return ""
    return f"The first {'trial is' if count == 1 else f'{count:,} are'} not shown here."


def _best(leaderboard: Leaderboard) -> Iterator[Figure]:
    for name, distributed in (("one device", False), ("distributed", True)):
        best = leaderboard.best(distributed=distributed)
        if best:
            text = rate_with_error(best.examples_per_second)
            yield figure(text, f"{name}, examples per second", note=_note(best))


def _note(best: Entry) -> str:
    short = in_short(best.configuration)
    compared = best.speedup if best.configuration.distributed else None
    return f"{short}, {share(compared)} times one device" if compared else short


def _outputs(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    failed = [each for each in reversed(trials) if each.detail and not each.measured]
    return tuple(failed[:MOST_OUTPUTS])


def _downloads(base: str, found: Result) -> dict[str, str]:
    programs = found.programs()
    paths = {name: f"script?part={part}" for part, (name, _) in FILES.items() if programs[name]}
    paths |= {f"config.{each}": f"config?format={each}" for each in ("yaml", "json", "toml")}
    paths["report.html"] = "report"
    return {name: f"{base}/{path}" for name, path in paths.items()}


def _facts(job: Job) -> dict[str, str]:
    asked = job.options.model_dump(exclude_defaults=True, exclude={"budget"})
    edited = ", edited while it was measured" if job.code_changed else ""
    known = {
        "Project": "" if job.project == LOCAL_PROJECT else job.project,
        "Parameters": params_text(job),
        "Space": space_name(job),
        "Budget": roughly(job.seconds),
        **{name.replace("_", " ").capitalize(): _listed(value) for name, value in asked.items()},
        "Needs": str(job.needs),
        "Priority": str(job.priority) if job.priority else "",
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


def _running(detail: JobDetail) -> tuple[float, TrialStarted] | None:
    if detail.job.state is not State.RUNNING:
        return None
    for event in reversed(detail.events):
        if isinstance(event.body, TrialStarted):
            return event.at, event.body
        if isinstance(event.body, TrialEnded | Claimed | Released):
            return None
    return None
