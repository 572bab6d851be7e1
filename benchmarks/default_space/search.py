"""A search as a user makes it who wants the largest throughput and says little else."""

import tempfile
from pathlib import Path

from autotune import Result, SearchOptions, autotune
from autotune.objective import MAX_THROUGHPUT


def search_default_space(file: Path, *, seed: int, **options: float) -> Result:
    """Search the ready-made space for the factories of a file, and keep no files."""
    with tempfile.TemporaryDirectory() as folder:
        return autotune(
            f"{file}:model_fn",
            f"{file}:dataset_fn",
            options=SearchOptions(objective=MAX_THROUGHPUT.name, seed=seed, **options),
            out=folder,
        )
