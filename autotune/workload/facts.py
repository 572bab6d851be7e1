"""What a look at the factories told, before any trial."""

from __future__ import annotations

from autotune.value import Value


class WorkloadFacts(Value):
    """Found once, in a process of its own, by calling each factory and reading a few examples."""

    model_takes: tuple[str, ...] = ()
    """Parameters that the model factory declares."""
    dataset_takes: tuple[str, ...] = ()
    """Parameters that the dataset factory declares."""
    examples: int | None = None
    """Examples in one epoch; None where counting took too long or the dataset never ends."""
    example_bytes: int = 0
    """Bytes of one example, all components together."""
    element: str = ""
    """The element spec of one example, as text."""
    weights: int = 0
    """Numbers that the model holds (all weights)."""
    gradient_bytes: int = 0
    """Bytes of one full set of gradients, which an all-reduce has to move."""
    dense_gradient_bytes: int = 0
    """Those of them that every step moves in full. An embedding's gradient holds only the rows
    that a batch has used, so it is gathered instead; an optimizer that accumulates moves none."""
    python_input: bool = False
    """Whether the dataset runs Python code while it is read: a generator, `py_function`,
    `numpy_function`. Only the process that made it can."""
    automatic: bool = False
    """Whether the dataset factory leaves a number to AUTOTUNE, if it is left its parameter."""
    repeatable: bool = False
    """Whether two passes gave the same first examples, so that a cache changes nothing."""
    file_shards: int = 0
    """The most workers between which the input's files can be divided; 0 where there are none."""
    optimizer: str = ""
    loss: str = ""
