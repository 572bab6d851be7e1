"""Python generators that datasets are made of: looked at without being used up or closed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from autotune.engine.child.notes import patched

_AGAIN = 64
"""Batches that a trial reads again where a generator has no more."""


def reads_once(data: Any) -> bool:
    """Whether data ends with its first pass, as a generator's does."""
    return hasattr(data, "__next__")


class ReadOnce:
    """What can be read once; as long as it keeps batches, each look at it begins with the same."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self._kept: list[Any] = []
        self.keeps = True
        self._error: Exception | None = None
        self._again: Iterator[Any] = iter(())
        self._reading = threading.Lock()  # A look that was given up may still wait for a batch.
        self.examples = 0
        """In all batches that it has given."""
        self.ended = False
        """Whether it has no more."""
        next(self, None)
        self.begin()
        self.batch = self.examples
        """Examples in its first batch; 0 where it has none."""

    def begin(self) -> None:
        self._again = iter([*self._kept])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with self._reading:
            for batch in self._again:
                return batch
            return self._read()

    def _read(self) -> Any:
        if self._error:  # What has raised would seem to have ended.
            raise self._error
        try:
            batch = next(self._source)
        except StopIteration:
            self.ended = True
            raise
        except Exception as exc:
            self._error = exc
            raise
        self.examples += int(np.shape(keras.tree.flatten(batch)[0])[0])
        if self.keeps:
            self._kept.append(batch)
        return batch


def lasting(source: Iterator[Any]) -> Iterator[Any]:
    """Yield what can be read once, and its first batches again and again when it has ended."""
    kept: list[Any] = []
    for batch in source:
        if len(kept) < _AGAIN:
            kept.append(batch)
        yield batch
    while kept:
        yield from kept


class OpenGenerators:
    """Keeps generators open that datasets are read from, and finds those that are read once.

    An inspection ends before they do, and what it closes may be the only one: the user may go on
    with it.
    """

    def __init__(self) -> None:
        self.once = False
        """Whether a second reading was given the iterator of the first."""
        self._open: list[Any] = []

    def watching(self) -> AbstractContextManager[None]:
        """Watch the datasets that are made by `from_generator` meanwhile, from then on."""
        return patched((tf.data.Dataset, "from_generator", self._watched))

    def _watched(self, make: Callable[..., Any]) -> Any:
        def from_generator(generator: Callable[..., Any], *rest: Any, **options: Any) -> Any:
            def read(*arguments: Any) -> Iterator[Any]:
                made = iter(generator(*arguments))
                self.once = self.once or any(made is each for each in self._open)
                self._open.append(made)
                for element in made:  # noqa: UP028 - `yield from` would close it
                    yield element

            return make(read if callable(generator) else generator, *rest, **options)

        return staticmethod(from_generator)
