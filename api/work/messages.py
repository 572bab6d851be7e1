"""The messages between a worker and the process of a search, as lines of JSON.

The worker sends one order; the process sends messages, and passes on the events of the search
unchanged.
"""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from autotune.api.isolation import Isolation
from autotune.api.values import AttemptReport
from autotune.base import Scalar, Value
from autotune.config import Configuration
from autotune.disk import is_of_the_disk
from autotune.errors import AutotuneError, EngineError, Interrupted, OutputError
from autotune.events import Event
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.space import Space
from autotune.trial import Trial
from autotune.wire.errors import causes

STUDY = "job"
"""Name of the study of every job; each is in a database of its own."""
MOST_DEATHS = 2
"""A configuration during which a worker died so often is not run again."""
UNUSABLE = "The service's disk or database is unavailable; contact the operator."
ODD = (
    "What the search reports cannot be read: its program has written into the search's own channel."
)
NO_ENGINE = "The service's engine could not run the search; contact the operator."
LONGEST_REASON = LONGEST_DETAIL = 2000
_OF_SQLITE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)


class SearchOrder(Value):
    """The order for the child, which does nothing before it has read it."""

    name: str
    model: str
    dataset: str
    arguments: tuple[str, ...] = ()
    """Arguments on a script's command line."""
    fit: str | None = None
    model_arguments: Mapping[str, Scalar]
    dataset_arguments: Mapping[str, Scalar]
    space: str | Space
    options: SearchOptions
    out: Path
    engine: str
    isolation: Isolation = Isolation.AUTO
    code: Path | None = None
    """Folder of uploaded code, which runs in a sandbox; None for a registered workload."""
    limits: tuple[int, int] | None = None
    """Most processes, and bytes of a file, of uploaded code."""
    kept: tuple[Trial, ...] = ()
    study: str | None = None
    """The purpose of their study."""
    excluded: tuple[Configuration, ...] = ()


class Found(Value):
    """The search has a result."""

    kind: Literal["found"] = "found"
    recommendation: Result


class GaveUp(Value):
    """The search ended without one, by an error that it understands."""

    kind: Literal["gave_up"] = "gave_up"
    reason: str
    interrupted: bool = False
    """Whether it was asked to end, so that the reason is the worker's."""
    for_log: str | None = None


class Stuck(Value):
    """The search could not use its folder, which is no fault of the job."""

    kind: Literal["stuck"] = "stuck"
    for_log: str


FinalMessage = Found | GaveUp | Stuck
Message = Annotated[Event | AttemptReport | FinalMessage, Field(discriminator="kind")]
message = TypeAdapter[Message](Message)


def line(what: Message) -> bytes:
    """Return a message as a line; what no text may hold is a question mark in it.

    A workload's error may hold it, as the name of a file does that is not in UTF-8.
    """
    text = json.dumps(message.dump_python(what, mode="json"), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"


def final_message(error: Exception) -> GaveUp | Stuck | None:
    """Return the last message of a search that ended by an error; None for an unexpected one.

    A fault of the workload or its measurement is told to the job's owner. A fault of the host is
    for the operator's log, and the owner gets a fixed sentence.
    """
    if isinstance(error, OutputError):
        return Stuck(for_log=detail(error))
    if isinstance(error, AutotuneError) and not isinstance(error, EngineError):
        text = str(error).replace("\0", "?")  # No database takes a null.
        reason = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."
        return GaveUp(reason=reason, interrupted=isinstance(error, Interrupted))
    if any(map(_is_of_the_disk, causes(error))):
        return Stuck(for_log=detail(error))
    if isinstance(error, EngineError):
        return GaveUp(reason=NO_ENGINE, for_log=detail(error))
    return None


def detail(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_DETAIL]


def _is_of_the_disk(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        # Of its code the lowest byte; the others refine it.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_SQLITE
    return is_of_the_disk(error)
