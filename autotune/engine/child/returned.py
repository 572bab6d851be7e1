"""Recognises what a dataset factory returned, and makes the dataset of it that a program makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from autotune.engine.child.passes import read_within
from autotune.engine.events import SAID
from autotune.errors import FactoryFailed, WorkloadError
from autotune.library.keras_input import batches_of, full_batches, read_by_python

BATCH = 32
"""Given to a factory that batches by itself."""
_LOOKED_AT = 64
"""Batches whose sizes are compared."""
_LOOKING_SECONDS = 60.0
"""The first of them may be long in coming; whoever asks for the facts has a limit of its own."""


class Taken(NamedTuple):
    """A dataset as the program has it, of examples or of batches."""

    dataset: Any
    size: int
    """Examples in one of its elements."""
    batched: bool
    returned: dict[str, bool]
    """What was returned, as the facts say it."""
    examples: int | None = None
    """None where only the dataset knows."""
    least: int = tf.data.UNKNOWN_CARDINALITY
    """The fewest elements that it has; below zero where nobody knows."""
    own_batch: int | None = None
    """Examples in the batches that were returned; None where they were not batches."""
    once: bool = False
    """Whether it can be read once."""
    every: Any = None
    """The same with the batches that are not full; None where it has these or nobody has them."""


def taken_from(made: Any, *, batched: bool, unbatch: bool) -> Taken:
    """Return the dataset that a program makes of what the factory returned."""
    beside = has_validation(made)
    data = made[0] if beside else made
    returned = {"beside": True} if beside else {}
    by_python = isinstance(data, keras.utils.PyDataset)
    if not isinstance(data, tf.data.Dataset):
        if unbatch:
            why = "whose batches are always taken" if by_python else "which has no batches to take"
            raise FactoryFailed(
                f"dataset_fn returned {class_of(data)}, {why} apart.", "Omit --unbatch."
            )
        return _from_python(data, returned) if by_python else _from_arrays(data, returned)
    if unbatch:
        return _from_batches(data, returned)
    if not batched:
        return Taken(data, 1, batched=False, returned=returned)
    shapes = [getattr(each, "shape", None) for each in tf.nest.flatten(data.element_spec)]
    if all(each is not None and each.rank and each[0] == BATCH for each in shapes):
        return Taken(data, BATCH, batched=True, returned=returned)
    check_sizes(data, BATCH, _of_other_sizes)
    least = max(int(data.cardinality()) - 1, tf.data.UNKNOWN_CARDINALITY)
    returned["uneven"] = True
    full = full_batches(data, BATCH)
    return Taken(full, BATCH, batched=True, returned=returned, least=least, every=data)


def has_validation(made: Any) -> bool:
    """Return whether data for the validation stands behind the data for the training."""
    if not isinstance(made, tuple) or len(made) != 2:
        return False
    one, other = made
    if isinstance(one, tf.data.Dataset | keras.utils.PyDataset):
        return True
    tuples = isinstance(one, tuple) and isinstance(other, tuple)
    # Features and labels would be of one length.
    return tuples and length_of(one) != length_of(other)


def length_of(arrays: Any) -> int | None:
    """Return the first dimension of the first component; None where it has none."""
    shape = getattr(keras.tree.flatten(arrays)[0], "shape", ())
    return int(shape[0]) if shape else None


def _from_arrays(data: Any, returned: dict[str, bool]) -> Taken:
    arguments = isinstance(data, tuple)
    try:
        length = length_of(data)
        size = min(BATCH, length or BATCH)
        dataset = batches_of(*(data if arguments else [data]), batch_size=size)
    except Exception as exc:
        raise FactoryFailed(
            f"dataset_fn returned {class_of(data)}, which cannot become a dataset: {SAID}.",
            "Return a tf.data.Dataset, or arrays as Model.fit takes them: x, (x, y) or "
            "(x, y, sample_weight). Wrap Python code that yields examples in "
            "tf.data.Dataset.from_generator.",
        ) from exc
    returned |= {"arrays": True, "arguments": arguments}
    return Taken(dataset, size, batched=True, returned=returned, examples=length)


def _from_python(data: Any, returned: dict[str, bool]) -> Taken:
    try:
        read, own = read_by_python(data), length_of(data[0])
    except Exception as exc:
        raise FactoryFailed(
            f"dataset_fn returned {class_of(data)}, whose first batch cannot be read: {SAID}.",
            "Check that its __getitem__(0) returns arrays or tensors, in a batch.",
        ) from exc
    returned["by_python"] = True
    full, every = (read.rebatch(BATCH, drop_remainder=drops) for drops in (True, False))
    return Taken(full, BATCH, batched=True, returned=returned, own_batch=own, every=every)


def _from_batches(dataset: Any, returned: dict[str, bool]) -> Taken:
    sizes = _sizes(dataset, 1)
    own = sizes[0] if sizes else 0
    least = (int(dataset.cardinality()) - 1) * own
    returned["unbatched"] = True
    dataset = dataset.unbatch()
    return Taken(dataset, 1, batched=False, returned=returned, least=least, own_batch=own)


def check_sizes(dataset: Any, size: int, failed: Callable[[str], WorkloadError]) -> None:
    """Make sure that most examples are in batches of one size."""
    sizes = _sizes(dataset, _LOOKED_AT)
    if sizes and sizes.count(size) * size * 2 < sum(sizes):
        raise failed(" to ".join(str(each) for each in sorted({min(sizes), max(sizes)})))


def _of_other_sizes(found: str) -> WorkloadError:
    return FactoryFailed(
        f"dataset_fn was called with batch_size={BATCH}, but its batches hold {found} examples.",
        "Make batches of batch_size examples (for bucket_by_sequence_length: bucket_batch_sizes="
        "[batch_size] * number of buckets), from at least as many examples.",
    )


def _sizes(dataset: Any, count: int) -> list[int]:
    batches = read_within(_LOOKING_SECONDS, dataset.take(count)).values
    return [length_of(batch) or 0 for batch in batches]


def class_of(value: Any) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return "nothing" if value is None else f"a {module}{kind.__qualname__}"
