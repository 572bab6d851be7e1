"""Whether the factories of a saved recommendation can be called again."""

from __future__ import annotations

from autotune.errors import FactoryNotFound
from autotune.workload import Factory, Workload


def check_factories(workload: Workload) -> None:
    """Make sure that every factory can be imported, is at hand, or is written down in full.

    Raises:
        FactoryNotFound: One is not; a file holds only the text of a function without a module.
    """
    for factory in _all(workload):
        if not factory.module and not factory.pickled and not _written_down(factory):
            raise FactoryNotFound(
                f"{factory.name} is not importable (a lambda, local function or notebook cell), "
                "so it cannot be loaded from a file.",
                "In Python, pass `result.saved()` to verify(); or tune with importable factories.",
            )


def callable_here(workload: Workload) -> bool:
    """Whether the factories themselves can be called, and not only the program that has them."""
    return all(factory.module or factory.pickled for factory in _all(workload))


def _all(workload: Workload) -> list[Factory]:
    found = (workload.model, workload.dataset, workload.callbacks)
    return [factory for factory in found if factory is not None]


def _written_down(factory: Factory) -> bool:
    source = factory.source
    return source is not None and bool(source.expression) and not source.missing
