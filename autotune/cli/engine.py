"""The engine behind the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autotune.run.engine import Engine


def start_engine() -> Engine:
    """Return this machine's engine, which begins to import TensorFlow in the background."""
    from autotune.run.local import LocalEngine

    return LocalEngine()
