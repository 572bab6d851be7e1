"""The engine behind the commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autotune.cli.consoles import say

if TYPE_CHECKING:
    from autotune.run.engine import Engine


def start_engine() -> Engine:
    """Return this machine's engine, which begins to import TensorFlow in the background."""
    from autotune.run.local import LocalEngine

    return LocalEngine()


@contextmanager
def timing_engine(what: str) -> Iterator[Engine]:
    """Give this machine's engine once no other search is timing on it.

    Args:
        what: Names this search to those that wait for it.

    Raises:
        Interrupted: Ctrl-C was pressed while waiting.
    """
    from autotune.run.exclusive import exclusive

    with exclusive(what, say), start_engine() as engine:
        yield engine
