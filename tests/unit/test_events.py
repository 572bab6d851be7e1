"""The events of a search."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, TypeAdapter

from autotune.config import Configuration
from autotune.events import Event, Notice, Preparing, TrialEnded, TrialStarted
from autotune.reason import Message, Outcome
from autotune.trial import Stage, Trial

TRIAL = Trial(
    number=3,
    stage=Stage.REPEAT,
    configuration=Configuration(workers=2),
    outcome=Outcome.MEASURED,
    reason=Message(text=""),
)


@pytest.mark.parametrize(
    "event",
    [
        Preparing(what="Inspecting the machine"),
        TrialStarted(number=3, stage=TRIAL.stage, configuration=TRIAL.configuration, elapsed=1.5),
        TrialEnded(trial=TRIAL, elapsed=2.0),
        Notice(text="The machine is busy."),
    ],
    ids=lambda event: event.kind,
)
def test_event_serialised_is_read_back_by_its_kind(event: Event) -> None:
    """A stream or a log needs nothing but the JSON of an event."""
    adapter: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
    assert adapter.validate_json(event.model_dump_json()) == event
