"""Every error that the service raises on purpose, and how a caller is told of one.

Each has a `kind`, a word for programs: its name, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from autotune.base import Described
from autotune.errors import AutotuneError, UsageError


class SettingsError(UsageError):
    """The operator's settings are wrong."""


class ServiceError(AutotuneError):
    """Base of all errors of a running service."""

    kind: ClassVar[str] = "service-error"
    kinds: ClassVar[dict[str, type[ServiceError]]] = {}
    """The others by their kinds."""

    def __init_subclass__(cls) -> None:
        """Name the kind after the class: `no-such-thing` for NoSuchThing."""
        super().__init_subclass__()
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()
        cls.kinds[cls.kind] = cls


class NotFound(ServiceError):
    """The caller's project has no such thing."""


class InvalidTuning(ServiceError):
    """A request for a job is wrong."""


class UnknownWorkload(InvalidTuning):
    """No workload of that name is registered."""


class UnknownCode(InvalidTuning):
    """A project has not uploaded the code that a request names."""


class BadArchive(ServiceError):
    """An archive is damaged, or holds what may not be unpacked."""


class CodeTooLarge(ServiceError):
    """An archive holds more than the operator allows."""


class InvalidParameter(InvalidTuning):
    """A parameter of the workload is unknown, missing or out of bounds."""


class InvalidSpace(InvalidTuning):
    """A search space is unknown or too large."""


class SpaceNotRunnable(InvalidSpace):
    """Nothing of a search space can run on the machine."""


class InvalidBudget(InvalidTuning):
    """A budget is beyond the quotas."""


class InvalidOption(InvalidTuning):
    """An option names what there is not."""


class IllegalTransition(ServiceError):
    """The state of a job does not allow what was asked."""


class IdempotencyMismatch(ServiceError):
    """An idempotency key came again with another request."""


class NoRecommendation(ServiceError):
    """A job has no recommendation, or none yet."""


class QuotaExceeded(ServiceError):
    """A project has as much, or has used as much, as it may."""


class TooManyStreams(QuotaExceeded):
    """As many follow jobs as this process serves."""


class KeyRefused(ServiceError):
    """A key is unknown, revoked or expired."""


class KeyMissing(KeyRefused):
    """A call came without a key."""


class ScopeMissing(ServiceError):
    """A key may not do this."""


class Superseded(ServiceError):
    """An attempt lost its lease; nothing that it still finds out may be written."""


class DatabaseUnavailable(ServiceError):
    """The database does not answer."""


class OtherSchema(DatabaseUnavailable):
    """The database has the schema of another version."""


class UnreadableRecord(ServiceError):
    """A stored record is damaged."""


class DiskFull(DatabaseUnavailable):
    """The database has no room."""


class Mistake(Described):
    """Something in a request that does not fit the schema."""

    location: str = Field(examples=["body.budget"])
    message: str = Field(examples=["Input should be a valid number"])


class Problem(Described):
    """Why a request was refused, for people and for programs."""

    type: str = Field(examples=["urn:autotune:problem:not-found"])
    title: str
    status: int
    code: str
    """The kind of problem in a word."""
    detail: str
    next_step: str
    """What to do about it; may be empty."""
    instance: str | None = Field(default=None, examples=["urn:autotune:request:5f0c9a1e"])
    """Which request it was, as in the service's log."""
    errors: tuple[Mistake, ...] = ()


def no_such_job() -> NotFound:
    return NotFound("Job not found.", "Check the id.")


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what each is raised from."""
    while error is not None:
        yield error
        error = error.__cause__
