"""The user's factories: how they are named, what is known of them, and what they were given."""

from autotune.workload.factory import (
    Factory as Factory,
    Workload as Workload,
    bound_names as bound_names,
    factory_from_callable as factory_from_callable,
    factory_from_text as factory_from_text,
    is_dotted_name as is_dotted_name,
    script_workload as script_workload,
)
from autotune.workload.facts import (
    BatchSource as BatchSource,
    Cacheable as Cacheable,
    FitCall as FitCall,
    FitData as FitData,
    FitFacts as FitFacts,
    InputPass as InputPass,
    Length as Length,
    LengthSource as LengthSource,
    OwnBatch as OwnBatch,
    OwnStrategy as OwnStrategy,
    Returned as Returned,
    WorkloadFacts as WorkloadFacts,
    length_of as length_of,
    own_batch as own_batch,
    own_rate as own_rate,
    own_settings as own_settings,
    why_assumed as why_assumed,
)
from autotune.workload.script import (
    Script as Script,
    is_script as is_script,
    script_from_text as script_from_text,
)
