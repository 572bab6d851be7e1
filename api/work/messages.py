"""What a worker and its child process tell each other, a line of JSON each.

The child hands on the events of its search as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from autotune.api.isolation import Isolation
from autotune.config import Configuration
from autotune.events import Event
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.space import Space
from autotune.trial import Trial
from autotune.value import Scalar, Value

STUDY = "job"
"""Name of the study of every job; each is in a database of its own."""


class Order(Value):
    """What the child is to do; it does nothing before it has read this."""

    name: str
    """Names the search to others that wait for the machine."""
    model: str
    dataset: str
    model_arguments: tuple[tuple[str, Scalar], ...]
    dataset_arguments: tuple[tuple[str, Scalar], ...]
    space: str | Space
    options: SearchOptions
    out: Path
    """Folder of this attempt."""
    engine: str
    isolation: Isolation = Isolation.AUTO
    """Whether it must have a network of its own."""
    kept: tuple[Trial, ...] = ()
    """Trials of earlier attempts."""
    study: str | None = None
    """What their study was made for."""
    aside: tuple[Configuration, ...] = ()
    """Configurations that are not to be run any more."""


class Begun(Value):
    """The machine is free and the search begins."""

    kind: Literal["begun"] = "begun"
    network: str = ""
    """Which network it has, in a sentence for whoever follows the job."""


class Studied(Value):
    """The study is there; its trials may be resumed."""

    kind: Literal["studied"] = "studied"
    study: str
    """What it was made for."""


class RunBegun(Value):
    """The engine is about to run a configuration."""

    kind: Literal["run_begun"] = "run_begun"
    configuration: Configuration


class RunOver(Value):
    """The engine has run it, and is still alive."""

    kind: Literal["run_over"] = "run_over"


class Found(Value):
    """The search has a result."""

    kind: Literal["found"] = "found"
    recommendation: Result


class GaveUp(Value):
    """The search ended without one, by an error that it understands."""

    kind: Literal["gave_up"] = "gave_up"
    reason: str
    """For whoever asked for the job."""
    detail: str | None = None
    """For the log alone."""


class Stuck(Value):
    """The search could not use its folder, which is no fault of the job."""

    kind: Literal["stuck"] = "stuck"
    detail: str
    """For the log alone."""


Answer = Found | GaveUp | Stuck
"""What the search says at last."""
Message = Annotated[
    Event | Begun | Studied | RunBegun | RunOver | Answer,
    Field(discriminator="kind"),
]
message = TypeAdapter[Message](Message)
