"""Every error that the service raises on purpose.

AutotuneError
├── UsageError
│   └── SettingsError           the operator's settings; the service does not start
└── ServiceError
    ├── NotFound                there is no such thing, or it is somebody else's
    ├── InvalidTuning           a request for a job is wrong
    │   ├── UnknownWorkload     nobody registered it
    │   ├── InvalidParameter    unknown, missing or out of bounds
    │   ├── InvalidSpace        unknown, or too large
    │   │   └── SpaceNotRunnable  nothing of it can run on this machine
    │   ├── InvalidBudget       no length of time, or out of bounds
    │   └── InvalidConstraints  unknown strategies, or out of bounds
    ├── Conflict                the job is in no state for this
    │   ├── IllegalTransition   no such step in the state machine
    │   ├── IdempotencyMismatch the same key with another request
    │   └── NoRecommendation    the job has none, or none yet
    ├── QuotaExceeded           too much is queued, or was used
    │   └── TooManyStreams      as many follow jobs as may
    ├── KeyRefused              no such key, or it has expired
    │   └── KeyMissing          none was shown
    ├── ScopeMissing            the key may not do this
    ├── Superseded              an attempt that is no longer the current one
    ├── MachineUnknown          nobody could look at the machine
    └── DatabaseUnavailable     it does not answer
        └── DiskFull            it has no room

Each has a `kind`, a word by which programs can tell it from others.
"""

from __future__ import annotations

from typing import ClassVar

from autotune.errors import AutotuneError, UsageError


class SettingsError(UsageError):
    """The operator's settings are wrong."""


class ServiceError(AutotuneError):
    """Base of all errors of a running service."""

    # What a command that asks the service ends with; over HTTP the `kind` tells them apart.
    exit_code: ClassVar[int] = 3
    kind: ClassVar[str] = "service-error"


class NotFound(ServiceError):
    """There is no such thing for whoever asks."""

    kind = "not-found"


class InvalidTuning(ServiceError):
    """A request for a job is wrong."""

    kind = "invalid-tuning"


class UnknownWorkload(InvalidTuning):
    """Nobody registered a workload of that name."""

    kind = "unknown-workload"


class InvalidParameter(InvalidTuning):
    """A parameter of the workload is unknown, missing or out of bounds."""

    kind = "invalid-parameter"


class InvalidSpace(InvalidTuning):
    """A search space is unknown or too large."""

    kind = "invalid-space"


class SpaceNotRunnable(InvalidSpace):
    """Nothing of a search space can run on the machine."""

    kind = "space-not-runnable"


class InvalidBudget(InvalidTuning):
    """A budget is beyond the quotas."""

    kind = "invalid-budget"


class InvalidOption(InvalidTuning):
    """An option names what there is not."""

    kind = "invalid-option"


class Conflict(ServiceError):
    """The state of a job does not allow what was asked."""

    kind = "conflict"


class IllegalTransition(Conflict):
    """The state machine has no such step."""

    kind = "illegal-transition"


class IdempotencyMismatch(Conflict):
    """An idempotency key came again with another request."""

    kind = "idempotency-mismatch"


class NoRecommendation(Conflict):
    """A job has no recommendation, or none yet."""

    kind = "no-recommendation"


class QuotaExceeded(ServiceError):
    """A key has as much queued, or has used as much, as it may."""

    kind = "quota-exceeded"


class TooManyStreams(QuotaExceeded):
    """As many follow jobs as this process serves."""

    kind = "too-many-streams"


class KeyRefused(ServiceError):
    """A key is unknown, revoked or expired."""

    kind = "key-refused"


class KeyMissing(KeyRefused):
    """A call came without a key."""

    kind = "key-missing"


class ScopeMissing(ServiceError):
    """A key may not do this."""

    kind = "scope-missing"


class Superseded(ServiceError):
    """An attempt lost its lease; nothing that it still finds out may be written."""

    kind = "superseded"


class MachineUnknown(ServiceError):
    """Nobody could look at the machine."""

    kind = "machine-unknown"


class DatabaseUnavailable(ServiceError):
    """The database does not answer."""

    kind = "database-unavailable"


class DiskFull(DatabaseUnavailable):
    """The database has no room."""

    kind = "disk-full"


def no_such_job() -> NotFound:
    """Return the error of a job that is not there for whoever asks."""
    return NotFound("Job not found.", "Check the id.")
