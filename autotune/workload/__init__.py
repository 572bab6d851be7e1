"""The user's factories: how they are named, what is known of them, and what they were given."""

from autotune.workload.factory import (
    Cacheable,
    Change,
    Factory,
    InputPass,
    Workload,
    WorkloadFacts,
    factory_from_callable,
    factory_from_text,
    is_dotted_name,
)

__all__ = [
    "Cacheable",
    "Change",
    "Factory",
    "InputPass",
    "Workload",
    "WorkloadFacts",
    "factory_from_callable",
    "factory_from_text",
    "is_dotted_name",
]
