"""How a program turns what `Model.fit` takes into a dataset."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from autotune.config import Configuration
from autotune.workload import FitData, WorkloadFacts

_CARRIED = [Path(__file__).parents[1] / name for name in ("datasets.py", "notebook.py")]
"""Read and not imported: TensorFlow would come with it."""
_OF_ARRAYS = ("batches_of", "as_tensor")
_BY_PYTHON = ("read_by_python", "by_threads", "by_processes")
_OF_CELLS = ("code_of_notebook", "python_of_cell")


def taken(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    """Return what the template of `data_fn()` needs to know."""
    returned = facts.returned
    sized = returned.arrays or returned.by_python or returned.uneven
    names = _OF_ARRAYS * returned.arrays + ("full_batches",) * returned.uneven
    names += _BY_PYTHON * returned.by_python
    return {
        "plain": returned.plain,
        "parameters": "*, batch_size: int, **options: Any" if sized else "**options: Any",
        "functions": [_functions()[name] for name in names],
        "expression": _expression(configuration, facts),
    }


def _expression(configuration: Configuration, facts: WorkloadFacts) -> str:
    returned, own = facts.returned, "batch_size" in facts.dataset_takes
    sized = own and (returned.arrays or returned.by_python or returned.uneven)
    text = "dataset_fn(batch_size=batch_size, **options)" if sized else "dataset_fn(**options)"
    if returned.beside:
        text = f"{text}[0]"
    if returned.arrays:
        text = f"batches_of({'*' if returned.arguments else ''}{text}, batch_size=batch_size)"
    if returned.by_python:
        text = f"{reading(text, configuration)}.rebatch(batch_size, drop_remainder=True)"
    if returned.unbatched:
        text = f"{text}.unbatch()"
    return f"full_batches({text}, batch_size)" if returned.uneven else text


def reading(source: str, configuration: Configuration, *, shuffle: str = "") -> str:
    """Return the expression for the batches of a `PyDataset` or a generator."""
    workers = configuration.py_dataset_workers
    arguments = [source, *([f"shuffle={shuffle}"] if shuffle else [])]
    return f"read_by_python({', '.join(arguments + [f'workers={workers}'] * bool(workers))})"


def functions_for(
    data: FitData | None, *, whole: bool, notebook: bool, evaluates: bool
) -> list[str]:
    """Return the text of each function that a script's program carries."""
    names = _OF_CELLS * notebook
    names += _OF_ARRAYS * (data in (None, FitData.ARRAYS))
    names += ("as_tensor",) * (evaluates and data is not FitData.ARRAYS)
    names += _BY_PYTHON * (data in (None, FitData.PY_DATASET, FitData.GENERATOR))
    names += ("full_batches",) * (whole and data is not FitData.ARRAYS)
    return [_functions()[name] for name in names]


@cache
def _functions() -> dict[str, str]:
    found = {}
    for file in _CARRIED:
        text = file.read_text(encoding="utf-8")
        for each in ast.parse(text).body:
            if isinstance(each, ast.FunctionDef):
                found[each.name] = ast.get_source_segment(text, each) or ""
    return found
