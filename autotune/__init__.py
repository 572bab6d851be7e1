"""Should I distribute this Keras training, how, and with which settings?

    from autotune import autotune

    result = autotune(model_fn, dataset_fn, budget="3min")
    print(result.summary)
    result.save("out/")

What belongs to one of these types is public too, in its module: the kinds of a `Reason` in
`autotune.reason`, what an `Engine` is handed in `autotune.engine.base`.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

# The one list of public names. Each is imported when it is first used, so that `import autotune`
# stays quick; `as` is how a type checker knows that it is offered to others.
if TYPE_CHECKING:
    from autotune.api.errors import ServiceError as ServiceError
    from autotune.api.events import Ended as Ended
    from autotune.api.needs import Needs as Needs
    from autotune.api.states import State as State
    from autotune.api.values import Job as Job, JobEvent as JobEvent
    from autotune.axis import Axis as Axis
    from autotune.checks.breakdown import Breakdown as Breakdown
    from autotune.checks.certificate import Certificate as Certificate
    from autotune.checks.diagnosis import BreakEven as BreakEven, Diagnosis as Diagnosis
    from autotune.checks.remedies import Advice as Advice
    from autotune.client import AsyncClient as AsyncClient, Client as Client
    from autotune.config import Configuration as Configuration, register_axes as register_axes
    from autotune.engine.base import Engine as Engine
    from autotune.engine.load import Load as Load
    from autotune.engine.lock import Wait as Wait
    from autotune.engine.tasks.observe import Observation as Observation
    from autotune.errors import (
        AutotuneError as AutotuneError,
        CodeError as CodeError,
        ConfigurationError as ConfigurationError,
        DatasetTooSmall as DatasetTooSmall,
        EngineError as EngineError,
        FactoryFailed as FactoryFailed,
        FactoryNotFound as FactoryNotFound,
        Interrupted as Interrupted,
        MissingPackage as MissingPackage,
        NothingMeasured as NothingMeasured,
        OutputError as OutputError,
        ScriptFailed as ScriptFailed,
        ServiceUnreachable as ServiceUnreachable,
        SpaceError as SpaceError,
        StudyMismatch as StudyMismatch,
        UsageError as UsageError,
        WorkloadError as WorkloadError,
    )
    from autotune.events import (
        Event as Event,
        Notice as Notice,
        Observer as Observer,
        Planned as Planned,
        Preparing as Preparing,
        TrialEnded as TrialEnded,
        TrialStarted as TrialStarted,
    )
    from autotune.machine import Machine as Machine
    from autotune.objective import Objective as Objective
    from autotune.options import SearchOptions as SearchOptions
    from autotune.plain import Window as Window
    from autotune.plan import Plan as Plan
    from autotune.reason import Outcome as Outcome, Reason as Reason
    from autotune.result import (
        Alternative as Alternative,
        Result as Result,
        SavedConfiguration as SavedConfiguration,
        Verdict as Verdict,
        load_configuration as load_configuration,
    )
    from autotune.result.leaderboard import Entry as Entry
    from autotune.space import Limit as Limit, Space as Space
    from autotune.space.origin import Origin as Origin
    from autotune.stats import Interval as Interval
    from autotune.stats.gradients import Learning as Learning
    from autotune.trial import Stage as Stage, Trial as Trial
    from autotune.tuning import Tuner as Tuner, autotune as autotune
    from autotune.verification.answer import Answer as Answer, Verification as Verification
    from autotune.verification.verify import verify as verify
    from autotune.workload import (
        Factory as Factory,
        Workload as Workload,
        WorkloadFacts as WorkloadFacts,
    )
    from autotune.workload.backlog import Backlog as Backlog
    from autotune.workload.script import Script as Script
    from autotune.workload.source import Source as Source


def _homes() -> dict[str, str]:
    """Return the module of each public name, read off the list above."""
    source = ast.parse(Path(__file__).read_text("utf-8"))
    (block,) = (each for each in source.body if isinstance(each, ast.If))
    imports = [each for each in block.body if isinstance(each, ast.ImportFrom)]
    return {name.name: each.module or "" for each in imports for name in each.names}


_HOME = _homes()
__all__ = sorted(_HOME, key=lambda name: (name.islower(), name))  # noqa: PLE0605 - see above


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
