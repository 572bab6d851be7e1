"""Every error that autotune raises on purpose.

AutotuneError
├── UsageError                the call was wrong; nothing was run            exit 2
│   ├── ConfigurationError    a configuration, or a file that holds one
│   ├── SpaceError            a search space, an axis or a value of it
│   ├── WorkloadError         the user's factories
│   │   ├── FactoryNotFound   cannot be imported
│   │   ├── FactoryFailed     raised, blocked, or returned the wrong thing
│   │   ├── ScriptFailed      does not come to a fit that can be tuned
│   │   └── DatasetTooSmall   holds fewer examples than one global batch
│   ├── CodeError             a file of code that is to be checked
│   ├── OutputError           the output folder or file
│   ├── StudyMismatch         a saved study belongs to another workload
│   └── MissingPackage        an optional package is not installed
├── NothingMeasured           no configuration could be measured             exit 3
├── NotVerified               nothing ran that tells of a saved result       exit 3
├── EngineError               the engine itself failed, not a trial          exit 3
├── ServiceUnreachable        a tuning service does not answer               exit 3
└── Interrupted               stopped by the user; what was found is saved   exit 130

Each names the cause and the next step, so that its text alone is enough to go on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from autotune.face import for_face

if TYPE_CHECKING:
    from pydantic import ValidationError


class AutotuneError(Exception):
    """Base of all errors.

    Args:
        cause: What is wrong, as a sentence.
        advice: What to do about it, as a sentence in which options are flags; may be empty.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, cause: str, advice: str = "") -> None:
        super().__init__(f"{cause} {advice}".strip())
        self.cause = cause
        self.advice = advice

    def __str__(self) -> str:
        return for_face(super().__str__())

    @property
    def next_step(self) -> str:
        """What to do about it, in which options have the names of whoever called."""
        return for_face(self.advice)


def in_words(error: BaseException) -> str:
    """Return what an error of the system says, without the path that our sentence names already."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error)


def requirement(message: str, of: str = "") -> str:
    """Return a message of pydantic in our words: `must be at least 1`, said of something."""
    ours = {
        "Value error, ": "",
        "Input should be": f"{of} must be".lstrip(),
        "a valid integer": "an integer",
        "a valid boolean": "true or false",
        "a valid tuple": "a list",
        r"a valid dictionary( or instance of \w+)?": "a mapping",
        "a valid ": "a ",
        "Field required": "is missing",
        "Tuple should have at least 1 item after validation, not 0": "is empty",
        "greater than or equal to": "at least",
        "less than or equal to": "at most",
    }
    for theirs, text in ours.items():
        message = re.sub(theirs, text, message)
    return message


def first_mistake(error: ValidationError) -> str:
    """Return where the first thing stands that is wrong with a value, and what is wrong."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {requirement(first['msg'])}"


class UsageError(AutotuneError):
    """An argument, factory, space or file is invalid; no trial was run."""

    exit_code = 2


class ConfigurationError(UsageError):
    """A configuration, or a file that holds one, is not valid."""


class SpaceError(UsageError):
    """A search space, one of its axes, or a value is not valid on this machine."""


class WorkloadError(UsageError):
    """A factory (model_fn, dataset_fn or callbacks_fn) is invalid."""


class FactoryNotFound(WorkloadError):
    """A factory cannot be imported."""


class FactoryFailed(WorkloadError):
    """A factory raised an exception, hung, or returned the wrong type."""


class ScriptFailed(WorkloadError):
    """A training script does not come to a `fit` that can be tuned."""

    lines: tuple[int, int] | None = None
    """The first and the last of the call of `fit` that failed; None where none did."""


class DatasetTooSmall(WorkloadError):
    """The dataset is empty, or has fewer examples than one global batch."""


class CodeError(UsageError):
    """A source file cannot be read or parsed."""


class OutputError(UsageError):
    """The output folder or file cannot be written."""


class StudyMismatch(UsageError):
    """A saved study belongs to another workload, space or machine."""


class MissingPackage(UsageError):
    """An optional dependency is not installed."""


class NothingMeasured(AutotuneError):
    """No configuration could be measured."""


class NotVerified(AutotuneError):
    """Nothing was measured that tells whether a saved recommendation holds."""


class EngineError(AutotuneError):
    """The engine itself failed, not a trial in it."""


class ServiceUnreachable(AutotuneError):
    """A tuning service does not answer, or what answers is none."""


class Interrupted(AutotuneError):
    """The user stopped the search; what was found is saved."""

    exit_code = 130
