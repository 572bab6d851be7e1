"""The truth of a replay table, from noisy runs."""

from itertools import product

import numpy as np

from benchmarks.replay.kriging import kriged

SETTINGS = [
    {"batch": batch, "steps": steps, "threads": threads, "prefetch": prefetch}
    for batch, steps, threads, prefetch in product(range(4), range(4), range(2), range(2))
]
NOISE = 0.1


def error(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def test_single_runs_are_drawn_towards_runs_like_them() -> None:
    """Where two axes matter and two do not, half of the noise at least is taken out."""
    truth = np.array([0.4 * each["batch"] - 0.2 * each["steps"] for each in SETTINGS])
    runs = truth + np.random.default_rng(0).normal(0, NOISE, len(truth))
    found = kriged(SETTINGS, runs, [1] * len(truth), NOISE)
    assert error(found, truth) < error(runs, truth) / 2
