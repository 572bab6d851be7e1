"""Trains the digits example once, and prints its held-out accuracy after each epoch as JSON.

    python -m benchmarks.curves.train [PROGRAM] --seed 0 --epochs 12

Without a program it trains by the user's own settings.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from examples import digits

ONE_IN = 8
"""Of so many images one is held out."""
BATCH = 32
"""What Keras takes where nobody says otherwise."""


class Accuracy(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Notes seconds, and accuracy on held-out images, after each epoch."""

    def __init__(self, images: Any, labels: Any) -> None:
        super().__init__()
        self._images = images
        self._labels = labels
        self._began = time.perf_counter()
        self.looks: list[tuple[float, float]] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        """Look, in time that does not count."""
        stopped = time.perf_counter()
        found = np.argmax(self.model(self._images, training=False), axis=-1)
        self.looks.append((stopped - self._began, float(np.mean(found == self._labels))))
        self._began += time.perf_counter() - stopped


def hold_out() -> tuple[Any, Any, int]:
    """Take images out of what the example reads, and return them and how many are left."""
    whole = load_digits()
    kept = np.arange(len(whole.target)) % ONE_IN != 0
    left = Bunch(images=whole.images[kept], target=whole.target[kept])
    vars(digits)["load_digits"] = lambda: left
    images = whole.images[~kept, :, :, np.newaxis].astype(np.float32) / 16
    return images, whole.target[~kept], int(kept.sum())


def by_own_settings(seed: int, epochs: int, accuracy: Accuracy) -> None:
    """Train as somebody does who has heard of nothing."""
    keras.utils.set_random_seed(seed)
    model = digits.model_fn()
    model.fit(digits.dataset_fn().batch(BATCH), epochs=epochs, callbacks=[accuracy], verbose=0)


def by_program(path: Path, examples: int) -> Callable[[int, int, Accuracy], None]:
    """Return what trains as a delivered program does, with fewer examples in an epoch."""
    program = _loaded(path)
    program.EXAMPLES = examples  # type: ignore[attr-defined] # its own name

    def train(seed: int, epochs: int, accuracy: Accuracy) -> None:
        given = ["--epochs", str(epochs), "--seed", str(seed), "--verbose", "0"]
        program.main(given, callbacks=[accuracy])

    return train


def _loaded(path: Path) -> ModuleType:
    sys.modules["digits"] = digits  # So that the program trains on what is left.
    sys.path.insert(0, str(path.parent))  # Its modules lie beside it.
    program = ModuleType("delivered")
    program.__file__ = str(path)
    exec(path.read_text(encoding="utf-8"), vars(program))  # noqa: S102 - it is to be compared
    return program


def main() -> int:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", nargs="?", type=Path, help="a train.py of one process")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=12)
    asked = parser.parse_args()
    images, labels, examples = hold_out()
    train = by_program(asked.program, examples) if asked.program else by_own_settings
    accuracy = Accuracy(images, labels)
    train(asked.seed, asked.epochs, accuracy)
    print(json.dumps(accuracy.looks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
