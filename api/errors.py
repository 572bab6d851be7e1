"""Every error that the service raises on purpose.

AutotuneError
├── UsageError
│   └── SettingsError           the operator's settings; the service does not start
└── ServiceError
    ├── NotFound                there is no such thing, or it is somebody else's
    ├── InvalidTuning           a request for a job is wrong
    ├── Conflict                the job is in no state for this
    │   ├── IllegalTransition   no such step in the state machine
    │   ├── IdempotencyMismatch the same key with another request
    │   └── NoRecommendation    the job has none, or none yet
    ├── QuotaExceeded           too much is queued, or was used
    ├── KeyRefused              no such key, or it has expired
    ├── ScopeMissing            the key may not do this
    ├── Superseded              an attempt that is no longer the current one
    └── DatabaseUnavailable     it does not answer

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


class KeyRefused(ServiceError):
    """A key is unknown, revoked or expired."""

    kind = "key-refused"


class ScopeMissing(ServiceError):
    """A key may not do this."""

    kind = "scope-missing"


class Superseded(ServiceError):
    """An attempt lost its lease; nothing that it still finds out may be written."""

    kind = "superseded"


class DatabaseUnavailable(ServiceError):
    """The database does not answer."""

    kind = "database-unavailable"
