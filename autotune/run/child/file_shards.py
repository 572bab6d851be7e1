"""Between how many workers the files of a dataset can be divided, found by trying it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from autotune.run.child.bounded import within

MOST = 16
"""Workers that are tried."""


def file_shards(dataset: Any, patience: float) -> int:
    """Return the largest number found in the time; 0 if the dataset does not read files."""
    try:
        # Private: no public function tells, and where it is missing nothing is promised.
        from tensorflow.python.data.experimental.ops.distribute import (  # noqa: PLC0415
            _AutoShardDataset,
        )
    except ImportError:
        return 0
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    found = within(patience, _working(_AutoShardDataset, dataset.with_options(options)))
    return found.values[-1] if found.values else 0


def _working(shard: Any, dataset: Any) -> Iterator[int]:
    """Yield each number of workers for which the last one still gets an example."""
    for workers in range(2, MOST + 1):
        try:
            example = next(iter(shard(dataset, workers, workers - 1)), None)
        except tf.errors.NotFoundError:
            return  # It reads no files.
        except tf.errors.OpError:
            example = None  # It reads too few.
        if workers == 2:
            yield 1
        if example is None:
            return
        yield workers
