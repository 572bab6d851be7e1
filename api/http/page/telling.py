"""What happened to a job, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.api.events import Cancelling, Claimed, Ended, Event, Queued, Released
from autotune.api.http.page.moments import Moment, moment_of
from autotune.api.states import State
from autotune.api.values import JobEvent, Story
from autotune.events import Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.report.progress import PHASES
from autotune.report.words import counted, in_short, rate, sentence

_STATES = {
    State.QUEUED: "Waiting for a worker",
    State.CANCELLING: "Being cancelled",
    State.DONE: "Done",
    State.CANCELLED: "Cancelled",
    State.FAILED: "Failed",
}


@dataclass(frozen=True)
class Said:
    """Something that happened."""

    at: Moment
    text: str


@dataclass(frozen=True)
class Running:
    """The trial that runs."""

    number: int
    configuration: str
    began: Moment


def phase(story: Story) -> str:
    """Return what a job does, in words."""
    told = _STATES.get(story.job.state)
    if told is not None:
        return told
    found = filter(None, (_phase(event.body) for event in reversed(story.events)))
    return next(found, "Running")


def running(story: Story) -> Running | None:
    """Return the trial that runs, if one does."""
    if story.job.state is not State.RUNNING:
        return None
    for event in reversed(story.events):
        match event.body:
            case TrialStarted(number=number, configuration=configuration):
                return Running(number, in_short(configuration), moment_of(event.at))
            case TrialEnded() | Claimed() | Released():
                return None
    return None


def history(events: Sequence[JobEvent]) -> tuple[Said, ...]:
    """Return what happened, the latest first; where a trial began is left out."""
    told = ((event, _words(event.body)) for event in reversed(events))
    return tuple(Said(moment_of(event.at), sentence(words)) for event, words in told if words)


def _phase(what: Event) -> str | None:
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


def _words(what: Event) -> str | None:  # noqa: PLR0911 - one for each kind
    match what:
        case Queued():
            return "Job queued"
        case Claimed(attempt=attempt, kept=kept):
            on = f", resuming after {counted(kept, 'trial')}" if kept else ""
            return f"A worker started it (attempt {attempt}){on}"
        case Released(reason=reason):
            return f"The worker released it: {reason}"
        case Planned(plan=plan):
            return f"{counted(plan.configurations, 'configuration')} in the search space"
        case TrialEnded(trial=trial):
            value = trial.examples_per_second
            figure = f", {rate(value)} examples/s" if value else ""
            return f"Trial {trial.number}: {trial.outcome}{figure}"
        case Preparing(what=text) | Notice(text=text):
            return text
        case Cancelling():
            return "Cancellation requested"
        case Ended(state=state):
            return f"The job is {state}"
        case TrialStarted():
            return None
