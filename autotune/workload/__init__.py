"""The user's factories: how they are named, what is known of them, and what they were given."""

from autotune.workload.backlog import Backlog, backlog_of
from autotune.workload.factory import (
    Factory,
    Workload,
    factory_from_callable,
    factory_from_text,
    is_dotted_name,
    script_workload,
)
from autotune.workload.facts import (
    Cacheable,
    DataFacts,
    FitCall,
    FitData,
    FitFacts,
    InputPass,
    ModelFacts,
    OwnStrategy,
    Returned,
    WorkloadFacts,
)
from autotune.workload.own_batch import BatchSource, OwnBatch, own_batch, own_settings
from autotune.workload.script import (
    Script,
    fit_calls,
    is_script,
    script_from_text,
)

__all__ = [
    "Backlog",
    "BatchSource",
    "Cacheable",
    "DataFacts",
    "Factory",
    "FitCall",
    "FitData",
    "FitFacts",
    "InputPass",
    "ModelFacts",
    "OwnBatch",
    "OwnStrategy",
    "Returned",
    "Script",
    "Workload",
    "WorkloadFacts",
    "backlog_of",
    "factory_from_callable",
    "factory_from_text",
    "fit_calls",
    "is_dotted_name",
    "is_script",
    "own_batch",
    "own_settings",
    "script_from_text",
    "script_workload",
]
