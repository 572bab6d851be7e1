"""Times the callbacks of a training, each by itself."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import keras

HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_epoch_begin", "on_epoch_end")
"""What Keras calls while steps are timed."""
PROGRESS_BAR = "ProgbarLogger (verbose)"


class CallbackTimes:
    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._known: list[Any] = []

    def watch(self) -> None:
        """Time every callback that a list of Keras gets from now on."""
        original = keras.callbacks.CallbackList.set_params

        @wraps(original)
        def set_params(listed: Any, params: Any) -> None:
            original(listed, params)
            for each in listed.callbacks:
                self.add(each)

        keras.callbacks.CallbackList.set_params = set_params

    def add(self, callback: Any) -> None:
        name = name_of(callback)
        if not name or any(each is callback for each in self._known):
            return
        self._known.append(callback)
        for hook in HOOKS:
            setattr(callback, hook, self._timed(name, getattr(callback, hook)))

    def take(self) -> Mapping[str, float]:
        """Return the seconds of each since the last time."""
        taken, self._seconds = self._seconds, defaultdict(float)
        return {name: seconds for name, seconds in taken.items() if seconds}

    def _timed(self, name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(hook)
        def timed(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return hook(*arguments, **options)
            finally:
                self._seconds[name] += time.perf_counter() - began

        return timed


def name_of(callback: Any) -> str:
    """Return how people know a callback; empty for one of the program or of the trial."""
    if isinstance(callback, keras.callbacks.ProgbarLogger):
        return PROGRESS_BAR
    kind = type(callback)
    return "" if kind.__module__.startswith("autotune") else kind.__name__
