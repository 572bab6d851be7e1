"""A few numbers that stand for many, so that distances between copies survive.

Each number is a sum of values with random signs, the same signs for every copy. The square of the
distance between two sketches is, on average, that between the values themselves; equal values have
equal sketches. So no weights need to travel between processes to be compared.
"""

from __future__ import annotations

import numpy as np

BUCKETS = 16
"""Numbers in a sketch. A distance read from so many is right within about a fifth."""
_CHUNK = 1 << 20
"""Values at a time, a multiple of `BUCKETS`, because the sums need eight bytes for each."""


def sketch(values: object) -> list[float]:
    flat = np.asarray(values).ravel()
    signs = np.random.default_rng(0)
    total = np.zeros(BUCKETS)
    for first in range(0, flat.size, _CHUNK):
        chunk = flat[first : first + _CHUNK].astype(np.float64)
        chunk *= 2.0 * signs.integers(0, 2, chunk.size, dtype=np.int8) - 1.0
        total += np.pad(chunk, (0, -chunk.size % BUCKETS)).reshape(-1, BUCKETS).sum(axis=0)
    return [float(each) for each in total]
