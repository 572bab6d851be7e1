"""Batches of a `PyDataset` that tell who has made them."""

import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import keras
import numpy as np

from autotune.library.keras_input import read_by_python

BATCHES = 6


class Met(keras.utils.PyDataset):
    """Each batch of threads waits for another, which one worker alone would never make."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.meeting = threading.Barrier(2, timeout=60)
        self.made = 0
        self.epochs: list[int] = []

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, index: int) -> Any:
        looked_at = not self.made
        if self.workers > 1 and not self.use_multiprocessing and not looked_at:
            self.meeting.wait()
        return self.batch(index)

    def batch(self, index: int) -> Any:
        self.made += 1
        return np.full((3, 1), index, np.float32), np.full((3, 1), os.getpid(), np.int64)

    def on_epoch_end(self) -> None:
        self.epochs.append(self.made)


class Broken(Met):
    """Its third batch cannot be made, and no other waits for it."""

    def __getitem__(self, index: int) -> Any:
        if index == 2:
            raise ValueError("the third batch")
        return self.batch(index)


def read(source: Any, *, workers: int = 0) -> tuple[list[int], set[int]]:
    batches = list(read_by_python(source, shuffle=False, workers=workers).as_numpy_iterator())
    return [int(x[0, 0]) for x, _ in batches], {int(y[0, 0]) for _, y in batches}


def alone() -> None:
    """One worker is the process itself."""
    source = Met()
    assert read(source) == ([*range(BATCHES)], {os.getpid()})
    assert source.epochs == [BATCHES + 1]


def threads() -> None:
    """They work at the same time, and the epoch ends when all is made."""
    source = Met(workers=2)
    assert read(source) == ([*range(BATCHES)], {os.getpid()})
    assert source.epochs == [BATCHES + 1]


def others() -> None:
    """Another number of workers takes the place of its own."""
    source = Met()
    source._workers = 2
    assert read(source, workers=4)[0] == [*range(BATCHES)]


def processes() -> None:
    """Two others take turns, in each epoch anew."""
    source = Met(workers=2, use_multiprocessing=True)
    dataset = read_by_python(source, shuffle=False).repeat(2)
    batches = list(dataset.as_numpy_iterator())
    assert [int(x[0, 0]) for x, _ in batches] == [*range(BATCHES)] * 2
    makers = {int(y[0, 0]) for _, y in batches}
    assert len(makers) == 4
    assert os.getpid() not in makers


def failing() -> None:
    """What a batch raises ends the reading, whoever makes it."""
    for multiprocessing in (False, True):
        source = Broken(workers=2, use_multiprocessing=multiprocessing)
        try:
            read(source)
        except Exception as exc:  # noqa: BLE001 - tf.data has classes of its own
            sys.stdout.write(f"{exc}\n")
        else:
            raise AssertionError("It went on.")


def begin(name: str) -> int:
    """Run one of these in a fork, with its output in files of its own; return the fork."""
    child = os.fork()
    if child:
        return child
    for number, ending in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}.{ending}", os.O_CREAT | os.O_WRONLY, 0o644), number)
    try:
        globals()[name]()
        sys.stdout.flush()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - whatever it is, it belongs into the report
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    # Nothing is computed in this process, so that each begins as a fresh one would.
    for what, fork in [(each, begin(each)) for each in sys.argv[1:]]:
        ended = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        Path(f"{what}.status").write_text(str(ended))
