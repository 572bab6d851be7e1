"""Random arrays of the true shapes in place of what `keras.datasets.*.load_data` downloads."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

Part = tuple[np.ndarray, np.ndarray]
Parts = tuple[Part, Part]
PACKAGE = "keras.src.datasets."


def images(shape: Sequence[int], classes: int, train: int, *labels: int, **_: Any) -> Parts:
    """Return images of bytes; the labels have the shape of a row each."""
    random = np.random.default_rng(0)

    def part(rows: int) -> Part:
        x = random.integers(0, 256, (rows, *shape), dtype="uint8")
        return x, random.integers(0, classes, (rows, *labels)).astype("uint8")

    return part(train), part(10_000)


def texts(rows: int, classes: int, *, num_words: int | None = None, **_: Any) -> Parts:
    """Return lists of word numbers, of different lengths."""
    random = np.random.default_rng(0)

    def part() -> Part:
        x = np.empty(rows, dtype=object)
        x[:] = [
            random.integers(1, num_words or 80_000, length).tolist()
            for length in random.integers(10, 500, rows)
        ]
        return x, random.integers(0, classes, rows)

    return part(), part()


STANDS: dict[str, Callable[..., Parts]] = {
    "mnist": partial(images, (28, 28), 10, 60_000),
    "fashion_mnist": partial(images, (28, 28), 10, 60_000),
    "cifar10": partial(images, (32, 32, 3), 10, 50_000, 1),
    "cifar100": partial(images, (32, 32, 3), 100, 50_000, 1),
    "imdb": partial(texts, 25_000, 2),
    "reuters": partial(texts, 9_000, 46),
}


class Finder(importlib.abc.MetaPathFinder):
    """Imports Keras's modules of data as ever, and then replaces what loads them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's own spec, whose loader replaces a function."""
        stand = STANDS.get(fullname.removeprefix(PACKAGE))
        if stand is None or not fullname.startswith(PACKAGE):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader:
            spec.loader.exec_module = partial(_load, spec.loader.exec_module, stand)  # type: ignore[method-assign] # of this one import
        return spec


def _load(
    load: Callable[[ModuleType], None], stand: Callable[..., Parts], module: ModuleType
) -> None:
    load(module)
    # Where a download would be put means nothing here.
    vars(module)["load_data"] = lambda *_, **options: stand(**options)


sys.meta_path.insert(0, Finder())
