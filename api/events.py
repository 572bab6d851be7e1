"""The events of a job: those of its search, as they are, and the service's own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from autotune import events
from autotune.api.states import State
from autotune.text import plural, rate
from autotune.value import Value

MOST_ENTRIES = 50
"""The best of them are kept with each event."""


class Queued(Value):
    """The job waits for a worker."""

    kind: Literal["queued"] = "queued"


class Claimed(Value):
    """A worker took the job."""

    kind: Literal["claimed"] = "claimed"
    attempt: int
    kept: int
    """Trials of earlier attempts, with which it goes on."""


class Released(Value):
    """A worker let go of a job that is not finished; it goes on by itself."""

    kind: Literal["released"] = "released"
    attempt: int
    reason: str


class Cancelling(Value):
    """Somebody cancelled the job; its worker is about to end it."""

    kind: Literal["cancelling"] = "cancelling"


class Ended(Value):
    """The job ended; the last event of every job, exactly once."""

    kind: Literal["ended"] = "ended"
    state: State
    summary: str | None = None
    reason: str | None = None


Event = Annotated[
    Queued | Claimed | events.Event | Released | Cancelling | Ended, Field(discriminator="kind")
]
event = TypeAdapter[Event](Event)


def brief(what: Event) -> Event:
    """Return an event without what the trials of the job hold already."""
    match what:
        case events.Planned():
            return what.model_copy(update={"kept": ()})
        case events.TrialEnded(trial=trial):
            shown = trial.model_copy(update={"windows": (), "detail": ""})
            entries = what.answer.entries[:MOST_ENTRIES] if what.answer else ()
            answer = what.answer and what.answer.model_copy(update={"entries": entries})
            return what.model_copy(update={"trial": shown, "answer": answer})
        case events.Notice(text=text):
            return what.model_copy(update={"text": text[:2000]})
    return what


def sentence_of(what: Event) -> str | None:  # noqa: PLR0911 - one for each kind
    """Return an event in a sentence; None for one that only changes a view."""
    match what:
        case Queued():
            return "Job queued"
        case Claimed(attempt=attempt, kept=kept):
            on = f", resuming after {plural(kept, 'trial')}" if kept else ""
            return f"A worker started it (attempt {attempt}){on}"
        case Released(reason=reason):
            return f"The worker released it: {reason}"
        case events.Planned(plan=plan):
            return f"{plural(plan.configurations, 'configuration')} in the search space"
        case events.TrialEnded(trial=trial):
            value = trial.examples_per_second
            throughput = f", {rate(value)} examples/s" if value else ""
            return f"Trial {trial.number}: {trial.outcome}{throughput}"
        case events.Preparing(what=text) | events.Notice(text=text):
            return text
        case Cancelling():
            return "Cancellation requested"
        case Ended(state=state):
            return f"The job is {state}"
        case events.TrialStarted():
            return None
