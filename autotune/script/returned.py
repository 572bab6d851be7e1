"""How a program turns what the dataset factory returns into a dataset."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from autotune.workload import WorkloadFacts

_DATASETS = Path(__file__).parents[1] / "datasets.py"
"""Read and not imported: TensorFlow would come with it."""


def taken(facts: WorkloadFacts) -> dict[str, object]:
    """Return what the template of `data_fn()` needs to know.

    Args:
        facts: What is known of the dataset factory.
    """
    returned = facts.returned
    sized = returned.arrays or returned.by_python or returned.uneven
    names = ["batches_of", "as_tensor"] * returned.arrays + ["full_batches"] * returned.uneven
    names += ["read_by_python"] * returned.by_python
    return {
        "plain": returned.plain,
        "parameters": "*, batch_size: int, **options: Any" if sized else "**options: Any",
        "functions": [functions()[name] for name in names],
        "expression": _expression(facts),
    }


def _expression(facts: WorkloadFacts) -> str:
    returned, own = facts.returned, "batch_size" in facts.dataset_takes
    sized = own and (returned.arrays or returned.by_python or returned.uneven)
    text = "dataset_fn(batch_size=batch_size, **options)" if sized else "dataset_fn(**options)"
    if returned.beside:
        text = f"{text}[0]"
    if returned.arrays:
        text = f"batches_of({'*' if returned.arguments else ''}{text}, batch_size=batch_size)"
    if returned.by_python:
        text = f"read_by_python({text}).rebatch(batch_size, drop_remainder=True)"
    if returned.unbatched:
        text = f"{text}.unbatch()"
    return f"full_batches({text}, batch_size)" if returned.uneven else text


@cache
def functions() -> dict[str, str]:
    """Return the text of each function that programs carry."""
    text = _DATASETS.read_text(encoding="utf-8")
    found = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    return {each.name: ast.get_source_segment(text, each) or "" for each in found}
