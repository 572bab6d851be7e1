"""A search as a user makes it who wants the largest throughput and says little else."""

from __future__ import annotations

import tempfile
from pathlib import Path

from autotune import Result, SearchOptions, autotune
from autotune.objective import MAX_THROUGHPUT


def search_default_space(file: Path, *, seed: int, **options: float) -> Result:
    """Search the ready-made space of this machine, and keep no files.

    Args:
        file: With `model_fn` and `dataset_fn`.
        seed: Of the search.
        options: Other than the default.
    """
    with tempfile.TemporaryDirectory() as folder:
        return autotune(
            f"{file}:model_fn",
            f"{file}:dataset_fn",
            options=SearchOptions(objective=MAX_THROUGHPUT.name, seed=seed, **options),
            out=folder,
        )
