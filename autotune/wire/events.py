"""The events of a job: those of its search, as they are, and the service's own."""

from typing import Annotated, Literal

from pydantic import Field

from autotune import events
from autotune.base import Described, Value
from autotune.text import plural, rate
from autotune.wire.jobs import State, Time


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
    """The job was cancelled; its worker is about to end it."""

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


class JobEvent(Described):
    """Something that happened to a job."""

    number: int
    """Counts from one without gaps; a stream is resumed after it."""
    at: Time
    body: Event


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
