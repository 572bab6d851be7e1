"""What each message of an attempt's process adds to the record."""

from __future__ import annotations

from typing import Any

from autotune import events
from autotune.api.store.attempts import Report
from autotune.api.work import messages
from autotune.api.work.messages import Message


def report(number: int, what: Message) -> Report:
    """Return what a message adds.

    Args:
        number: Of the message within its attempt, from one.
        what: The message.
    """
    return Report(number=number, **_content(what))


def _content(what: Message) -> dict[str, Any]:
    match what:
        case messages.Begun(network=text):
            return {"began": True, "events": (events.Notice(text=text),) if text else ()}
        case messages.Studied(study=study):
            return {"study": study}
        case messages.RunBegun(configuration=configuration):
            return {"running": configuration}
        case messages.RunOver():
            return {"idle": True}
        case messages.Found() | messages.GaveUp() | messages.Stuck():
            return {}  # Recorded with the end of the job, once nothing of it is left.
    trial = what.trial if isinstance(what, events.TrialEnded) else None
    return {"trial": trial, "events": (what,)}
