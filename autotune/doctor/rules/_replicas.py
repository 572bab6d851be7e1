"""What functions do that replicas run."""

from __future__ import annotations

from collections.abc import Iterable

from autotune.doctor.code import Module
from autotune.doctor.code.tree import Function

_ASKS = {"get_replica_context", "replica_id_in_sync_group"}


def ask_which_it_is(module: Module, functions: Iterable[Function]) -> bool:
    """Return whether some of the functions may ask which replica runs them."""
    return any(module.tree.asks_for(each, _ASKS) for each in functions)
