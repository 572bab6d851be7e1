"""Should I distribute this Keras training, how, and with which settings?

    from autotune import autotune

    result = autotune(model_fn, dataset_fn, budget="3min")
    print(result.summary)
    result.save("out/")

Names are imported when they are first used, so that `import autotune` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autotune.config import Configuration
    from autotune.errors import (
        AutotuneError,
        CodeError,
        ConfigurationError,
        DatasetTooSmall,
        EngineError,
        FactoryFailed,
        FactoryNotFound,
        Interrupted,
        MissingPackage,
        NothingMeasured,
        OutputError,
        SpaceError,
        StudyMismatch,
        UsageError,
        WorkloadError,
    )
    from autotune.machine import Machine
    from autotune.measure import Interval
    from autotune.result import Result, Verdict, load_configuration
    from autotune.run.engine import Outcome
    from autotune.space import Space
    from autotune.trial import Trial
    from autotune.tuning import autotune
    from autotune.verification.answer import Answer
    from autotune.verification.verification import Verification
    from autotune.verification.verify import verify

_HOMES = {
    "autotune.config": ("Configuration",),
    "autotune.errors": (
        "AutotuneError",
        "CodeError",
        "ConfigurationError",
        "DatasetTooSmall",
        "EngineError",
        "FactoryFailed",
        "FactoryNotFound",
        "Interrupted",
        "MissingPackage",
        "NothingMeasured",
        "OutputError",
        "SpaceError",
        "StudyMismatch",
        "UsageError",
        "WorkloadError",
    ),
    "autotune.machine": ("Machine",),
    "autotune.measure": ("Interval",),
    "autotune.result": ("Result", "Verdict", "load_configuration"),
    "autotune.run.engine": ("Outcome",),
    "autotune.space": ("Space",),
    "autotune.trial": ("Trial",),
    "autotune.tuning": ("autotune",),
    "autotune.verification.answer": ("Answer",),
    "autotune.verification.verification": ("Verification",),
    "autotune.verification.verify": ("verify",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "AutotuneError",
    "CodeError",
    "Configuration",
    "ConfigurationError",
    "DatasetTooSmall",
    "EngineError",
    "FactoryFailed",
    "FactoryNotFound",
    "Interrupted",
    "Interval",
    "Machine",
    "MissingPackage",
    "NothingMeasured",
    "Outcome",
    "OutputError",
    "Result",
    "Space",
    "SpaceError",
    "StudyMismatch",
    "Trial",
    "UsageError",
    "Verdict",
    "Verification",
    "WorkloadError",
    "autotune",
    "load_configuration",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'autotune' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
