"""The user's factories: how they are named, what is known of them, and what they were given."""

from autotune.workload.factory import (
    Cacheable,
    Factory,
    InputPass,
    Returned,
    Workload,
    WorkloadFacts,
    factory_from_callable,
    factory_from_text,
    is_dotted_name,
)

__all__ = [
    "Cacheable",
    "Factory",
    "InputPass",
    "Returned",
    "Workload",
    "WorkloadFacts",
    "factory_from_callable",
    "factory_from_text",
    "is_dotted_name",
]
