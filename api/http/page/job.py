"""One job: as it runs, and what it has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from autotune.api.events import Event
from autotune.api.http.page.chart import Chart, chart
from autotune.api.http.page.listing import params_text, space_name
from autotune.api.http.page.moments import Moment, moment_of
from autotune.api.http.page.telling import Running, Said, history, phase, running
from autotune.api.http.page.trials import Tables, tables
from autotune.api.http.page.verdict import VerdictView, verdict_view
from autotune.api.states import FINAL, State
from autotune.api.values import Job, Story
from autotune.leaderboard import Entry, Leaderboard
from autotune.options import Group, SearchOptions, declared
from autotune.report.words import (
    clock,
    in_short,
    rate_with_error,
    roughly,
    sentence,
    share,
)

WIDE, NARROW = 860, 350
"""Widths of the drawing, for a desk and for a hand: its letters keep their size."""
KINDS = tuple(kind.model_fields["kind"].default for kind in get_args(get_args(Event)[0]))
"""The names of the events of a stream."""


@dataclass(frozen=True, kw_only=True)
class Time:
    """How much of the budget is used."""

    seconds: float
    budget: float
    text: str
    whole: str
    ticking: bool
    """Whether it goes on."""


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best so far of its kind."""

    kind: str
    configuration: str
    rate: str
    spread: str
    share: str
    """As a multiple of one device; empty for that itself."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that was asked for, or is known of the job."""

    name: str
    value: str = ""
    moment: Moment | None = None


@dataclass(frozen=True, kw_only=True)
class JobView:
    """A job's page."""

    id: str
    workload: str
    state: State
    phase: str
    news: str
    """What is said aloud when it has changed: the phase, and at last how it ended."""
    reason: str
    final: bool
    stream: str
    """Where it is followed."""
    kinds: tuple[str, ...]
    events: int
    """The last event that this view knows."""
    time: Time
    running: Running | None
    best: tuple[Best, ...]
    verdict: VerdictView | None
    charts: tuple[Chart, ...]
    tables: Tables
    trials: int
    left_out: str
    """How many trials came before those in sight, in words; empty if none did."""
    facts: tuple[Fact, ...]
    history: tuple[Said, ...]


def job_view(story: Story) -> JobView:
    """Return the view of a job."""
    job, found = story.job, story.recommendation
    board = Leaderboard(story.trials, found.one_device if found else None)
    alone = board.best(distributed=False)
    return JobView(
        id=job.id,
        workload=job.workload,
        state=job.state,
        phase=phase(story),
        news=_news(story),
        reason=job.reason or "",
        final=job.state in FINAL,
        stream=f"{job.url}/events",
        kinds=KINDS,
        events=job.events,
        time=_time(story),
        running=running(story),
        best=tuple(_best(each) for each in (alone, board.best(distributed=True)) if each),
        verdict=verdict_view(job.id, found) if found else None,
        charts=_charts(story, alone.examples_per_second.value if alone else None),
        tables=tables(story.trials, board),
        trials=job.trials,
        left_out=_left_out(job.trials - len(story.trials)),
        facts=tuple(_facts(job)),
        history=history(story.events),
    )


def _news(story: Story) -> str:
    job = story.job
    return " ".join(filter(None, (sentence(phase(story)), job.summary or job.reason)))


def _left_out(count: int) -> str:
    if count <= 0:
        return ""
    return f"The first {'trial is' if count == 1 else f'{count:,} are'} not shown here."


def _time(story: Story) -> Time:
    job = story.job
    return Time(
        seconds=round(min(story.spent, job.seconds), 1),
        budget=job.seconds,
        text=clock(story.spent),
        whole=clock(job.seconds),
        ticking=job.state is State.RUNNING and story.spent > 0,
    )


def _best(row: Entry) -> Best:
    value, _, spread = rate_with_error(row.examples_per_second).partition(" ")
    distributed = row.configuration.distributed
    return Best(
        kind="distributed" if distributed else "one device",
        configuration=in_short(row.configuration),
        rate=value,
        spread=spread,
        share=share(row.speedup) if distributed and row.speedup else "",
    )


def _charts(story: Story, baseline: float | None) -> tuple[Chart, ...]:
    if not any(each.examples_per_second for each in story.trials):
        return ()
    widths = {"wide": WIDE, "narrow": NARROW}
    return tuple(chart(name, story.trials, baseline, width) for name, width in widths.items())


def _facts(job: Job) -> list[Fact]:
    known = {
        "Parameters": params_text(job),
        "Space": space_name(job),
        "Budget": roughly(job.seconds),
        "Most trials": "" if job.max_trials is None else f"{job.max_trials:,}",
        "Constraints": _constraints(job),
        "Margin": f"{job.margin:.0%}",
        "Seed": str(job.seed),
        "Devices": job.devices or "",
        "Attempts": str(job.attempt) if job.attempt > 1 else "",
    }
    times = {"Created": job.created_at, "Began": job.started_at, "Ended": job.ended_at}
    return [
        *(Fact(name=name, value=value) for name, value in known.items() if value),
        *(Fact(name=name, moment=moment_of(at)) for name, at in times.items() if at),
        Fact(name="Id", value=job.id),
    ]


_BOUNDS = tuple(each.name for each in declared() if each.group is Group.BOUNDS)


def _constraints(given: SearchOptions) -> str:
    found = given.model_dump(exclude_defaults=True, include=set(_BOUNDS))
    told = (f"{name.replace('_', ' ')} {_listed(value)}" for name, value in found.items())
    return ", ".join(map(str.strip, told))


def _listed(value: object) -> str:
    if value is True:
        return ""
    return " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)
