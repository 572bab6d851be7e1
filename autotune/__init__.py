"""Should I distribute this Keras training, how, and with which settings?

    import autotune

    result = autotune.tune(model_fn, dataset_fn, budget="3min")
    print(result)
    result.save("out/")

What belongs to one of these types is public too, in its module: the kinds of a `Reason` in
`autotune.reason`, what an `Engine` is handed in `autotune.engine.base`.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "autotune.axis": "Axis",
    "autotune.checks.breakdown": "Breakdown",
    "autotune.checks.certificate": "Certificate",
    "autotune.checks.scaling": "BreakEven Diagnosis",
    "autotune.checks.remedies": "Advice",
    "autotune.client": "Client",
    "autotune.answer": "Answer Entry Verdict",
    "autotune.config": "Configuration",
    "autotune.engine.base": "Engine",
    "autotune.engine.load": "Load",
    "autotune.engine.lock": "Wait",
    "autotune.engine.tasks": "Observation",
    "autotune.errors": (
        "AutotuneError CodeError ConfigurationError DatasetTooSmall EngineError "
        "FactoryFailed FactoryNotFound Interrupted MissingPackage NotVerified "
        "NothingMeasured OutputError ScriptFailed ServiceUnreachable SpaceError StudyMismatch "
        "UsageError WorkloadError"
    ),
    "autotune.events": "Event Notice Observer Planned Preparing TrialEnded TrialStarted",
    "autotune.machine": "Machine",
    "autotune.options": "SearchOptions",
    "autotune.shared_values": "Window",
    "autotune.plan": "Plan",
    "autotune.reason": "Outcome Reason",
    "autotune.result": "Result SavedConfiguration load_configuration",
    "autotune.result.stored": "Unsaved",
    "autotune.space": "Limit Space",
    "autotune.learning": "Learning",
    "autotune.stats.intervals": "Interval",
    "autotune.trial": "Stage Trial",
    "autotune.tuning": "Tuner autotune tune",
    "autotune.verification": "Verification VerificationOutcome verify",
    "autotune.wire.errors": "ServiceError",
    "autotune.wire.events": "Ended JobEvent",
    "autotune.wire.jobs": "Job Needs State",
    "autotune.workload": "Factory Length Workload WorkloadFacts",
    "autotune.workload.script": "Script",
    "autotune.workload.source": "Source",
}
"""The public names of each module. `__init__.pyi` says the same to type checkers."""

_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted(_HOME, key=lambda name: (name.islower(), name))  # noqa: PLE0605 - see above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name == "__version__":
        from autotune.versions import VERSION  # noqa: PLC0415 - as the other names

        return VERSION
    if name not in _HOME:
        raise AttributeError(f"module 'autotune' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
