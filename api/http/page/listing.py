"""The list of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from autotune.api.http.tunings import ListQuery
from autotune.api.labels import selectors
from autotune.api.states import FINAL, State
from autotune.api.values import Job, Page
from autotune.text import clock, plural, rate, roughly

FILTERS: Mapping[str, tuple[State, ...]] = {
    "All": (),
    "Waiting": (State.QUEUED,),
    "Running": (State.RUNNING, State.CANCELLING),
    "Done": (State.DONE,),
    "Failed": (State.FAILED,),
    "Cancelled": (State.CANCELLED,),
}


@dataclass(frozen=True, kw_only=True)
class Link:
    text: str
    address: str
    current: bool = False


def list_view(page: Page, query: ListQuery) -> dict[str, Any]:
    """Return what the list shows; `kept` is what the form for another label sends along."""
    return {
        "jobs": tuple(map(_listed, page.tunings)),
        "filters": tuple(
            Link(text=text, address=_address(query, states), current=set(states) == {*query.state})
            for text, states in FILTERS.items()
        ),
        "labels": tuple(_without(each, query) for each in query.label),
        "kept": tuple(_pairs(query, query.state)),
        "newest": _address(query, query.state) if query.before else None,
        "older": _address(query, query.state, page.next) if page.next else None,
        "unfinished": any(job.state not in FINAL for job in page.tunings),
    }


def label_links(job: Job) -> tuple[Link, ...]:
    return tuple(
        Link(text=each, address=_address(ListQuery(label=[each]), ()))
        for each in selectors(job.labels)
    )


def params_text(job: Job) -> str:
    return ", ".join(f"{name}={value}" for name, value in job.params.items())


def space_name(job: Job) -> str:
    return job.space if isinstance(job.space, str) else job.space.name


def _listed(job: Job) -> dict[str, Any]:
    settings = (params_text(job), f"space {space_name(job)}", f"budget {roughly(job.seconds)}")
    return {
        "job": job,
        "settings": ", ".join(filter(None, settings)),
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


def _without(label: str, query: ListQuery) -> Link:
    rest = query.model_copy(update={"label": [each for each in query.label if each != label]})
    return Link(text=label, address=_address(rest, query.state))


def _address(query: ListQuery, states: Sequence[State], before: str | None = None) -> str:
    pairs = [*_pairs(query, states), *([("before", before)] if before else [])]
    return f"/?{urlencode(pairs)}" if pairs else "/"


def _pairs(query: ListQuery, states: Sequence[State]) -> Iterator[tuple[str, str]]:
    """Yield what a list is asked for, names and values, but for its page."""
    yield from (("state", str(each)) for each in states)
    kept = query.model_dump(mode="json", exclude_defaults=True, exclude={"state", "before"})
    for name, value in kept.items():
        yield from ((name, str(each)) for each in (value if isinstance(value, list) else [value]))
