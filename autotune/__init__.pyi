# The public names for type checkers; `__init__.py` has them by module.

from autotune.answer import Answer as Answer, Entry as Entry, Verdict as Verdict
from autotune.axis import Axis as Axis
from autotune.checks.breakdown import Breakdown as Breakdown
from autotune.checks.certificate import Certificate as Certificate
from autotune.checks.remedies import Advice as Advice
from autotune.checks.scaling import BreakEven as BreakEven, Diagnosis as Diagnosis
from autotune.client import Client as Client
from autotune.config import Configuration as Configuration
from autotune.engine.base import Engine as Engine
from autotune.engine.load import Load as Load
from autotune.engine.lock import Wait as Wait
from autotune.engine.tasks import Observation as Observation
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
    NotVerified as NotVerified,
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
from autotune.learning import Learning as Learning
from autotune.machine import Machine as Machine
from autotune.options import SearchOptions as SearchOptions
from autotune.plan import Plan as Plan
from autotune.reason import Outcome as Outcome, Reason as Reason
from autotune.result import (
    Result as Result,
    SavedConfiguration as SavedConfiguration,
    load_configuration as load_configuration,
)
from autotune.result.stored import Unsaved as Unsaved
from autotune.shared_values import Window as Window
from autotune.space import Limit as Limit, Space as Space
from autotune.stats.intervals import Interval as Interval
from autotune.trial import Stage as Stage, Trial as Trial
from autotune.tuning import Tuner as Tuner, autotune as autotune, tune as tune
from autotune.verification import (
    Verification as Verification,
    VerificationOutcome as VerificationOutcome,
    verify as verify,
)
from autotune.wire.errors import ServiceError as ServiceError
from autotune.wire.events import Ended as Ended, JobEvent as JobEvent
from autotune.wire.jobs import Job as Job, Needs as Needs, State as State
from autotune.workload import (
    Factory as Factory,
    Length as Length,
    Workload as Workload,
    WorkloadFacts as WorkloadFacts,
)
from autotune.workload.script import Script as Script
from autotune.workload.source import Source as Source

__version__: str
__all__: list[str]  # noqa: PYI035 - the names of the table
