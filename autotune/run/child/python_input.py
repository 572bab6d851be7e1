"""Whether reading a dataset runs Python code, which only the process that made it can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def runs_python(dataset: Any) -> bool:
    """Return whether a generator, `py_function` or `numpy_function` is part of the dataset."""
    try:
        return any(node.op in _OPS for node in _nodes(dataset))
    except AttributeError:  # Private: where TensorFlow has changed, nothing is promised.
        return False


def _nodes(dataset: Any) -> Iterator[Any]:
    """Yield the operations of all functions of the dataset and of those that it reads from."""
    for function in dataset._functions():  # noqa: SLF001 - see above
        graph: tf.compat.v1.GraphDef = function.function.graph.as_graph_def()
        yield from graph.node
        for inner in graph.library.function:
            yield from inner.node_def
    for source in dataset._inputs():  # noqa: SLF001 - see above
        yield from _nodes(source)
