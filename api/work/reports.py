"""What each message of an attempt's process adds to the record."""

from __future__ import annotations

from dataclasses import replace

from autotune.api import happenings
from autotune.api.happenings import Happening
from autotune.api.store.attempts import Report
from autotune.api.work import messages
from autotune.api.work.messages import Message

LONGEST_NOTE = 2000


def report(number: int, what: Message) -> Report:
    """Return what a message adds.

    Args:
        number: Of the message within its attempt, from one.
        what: The message.
    """
    made = Report(number=number, happenings=_happenings(what))
    match what:
        case messages.Begun():
            made = replace(made, began=True)
        case messages.Prepared(study=study):
            made = replace(made, study=study)
        case messages.RunBegun(configuration=configuration):
            made = replace(made, running=configuration)
        case messages.RunOver():
            made = replace(made, idle=True)
        case messages.TrialDone(trial=trial):
            made = replace(made, trial=trial)
    return made


def _happenings(what: Message) -> tuple[Happening, ...]:
    match what:
        case messages.Prepared(plan=plan):
            return (happenings.Planned(plan=plan),)
        case messages.TrialStarted():
            fields = what.model_dump(exclude={"kind"})
            return (happenings.TrialBegan.model_validate(fields),)
        case messages.TrialDone(trial=trial, elapsed=elapsed):
            shown = trial.model_copy(update={"windows": ()})
            return (happenings.TrialEnded(trial=shown, elapsed=elapsed),)
        case messages.Begun(network=text) if text:
            return (happenings.Note(text=text),)
        case messages.Said(text=text):
            return (happenings.Note(text=text[:LONGEST_NOTE]),)
    # A result is recorded with the end of the job, once nothing of it is left.
    return ()
