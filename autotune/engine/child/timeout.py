"""Work that is given up after some time, though it may block."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Progress(Generic[T]):
    values: tuple[T, ...]
    done: bool
    """Whether it came to its end by itself."""
    error: Exception | None
    """What ended it."""


def within(seconds: float, work: Iterable[T]) -> Progress[T]:
    """Take values from `work` until it ends, fails, or the time is over.

    It runs in a thread, which is left behind if it blocks; so this is for a process that ends soon.
    """
    values: list[T] = []
    errors: list[Exception] = []
    done = threading.Event()
    deadline = time.monotonic() + seconds

    def take() -> None:
        try:
            for value in work:
                if time.monotonic() > deadline:
                    return
                values.append(value)
        except Exception as exc:  # noqa: BLE001 - the caller sees it
            errors.append(exc)
        else:
            done.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(seconds)
    return Progress(tuple(values), done.is_set(), errors[0] if errors else None)
