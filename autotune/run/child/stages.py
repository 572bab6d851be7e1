"""The stages of a dataset that AUTOTUNE could set a number for, as the program wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tensorflow as tf

from autotune.owner import Owner

PARAMETER = "num_parallel_calls"
MARK = 7919
"""A number that no program writes by itself: a stage that takes it got it from its parameter."""
_KINDS = {
    "_MapDataset": "map",
    "_ParallelMapDataset": "map",
    "_InterleaveDataset": "interleave",
    "_ParallelInterleaveDataset": "interleave",
    "_BatchDataset": "batch",
    "_ParallelBatchDataset": "batch",
    "_PrefetchDataset": "prefetch",
}
_NUMBERS = ("_num_parallel_calls", "_buffer_size")


class Stage(NamedTuple):
    """A stage that the program wrote."""

    kind: str
    number: int | None
    """What it was given; None where it runs one call after the other."""


class Call(NamedTuple):
    """How the program called its dataset factory, and what it got."""

    factory: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    result: Any


def stages(dataset: Any) -> list[Stage]:
    """Return the stages of a dataset, the last one first."""
    return [*_walk(dataset)]


def leaves_numbers(dataset: Any) -> bool:
    """Return whether any stage of a dataset is left to AUTOTUNE."""
    try:
        return any(map(_is_left, stages(dataset)))
    except AttributeError:  # Private: where TensorFlow has changed, nobody knows.
        return True


def owners(dataset: Any, call: Call) -> list[tuple[str, str]]:
    """Return each stage of a program's dataset, the last one first, with who left it to AUTOTUNE.

    Nobody, as an empty text, where it has a number or runs one call after the other.

    Args:
        dataset: What the program trains on.
        call: How it got the factory's part of it.
    """
    whole, part = stages(dataset), stages(call.result)
    # The program only adds stages, so the last ones in this order are the factory's.
    own = whole[: len(whole) - len(part)]
    found = [(each.kind, str(Owner.PREFETCH) if _is_left(each) else "") for each in own]
    return [*found, *zip([each.kind for each in part], _of_factory(part, call), strict=True)]


def _of_factory(part: list[Stage], call: Call) -> list[str]:
    marked = part
    if call.options.get(PARAMETER) == tf.data.AUTOTUNE and any(map(_is_left, part)):
        again = call.factory(*call.arguments, **{**call.options, PARAMETER: MARK})
        marked = stages(again)
    if [each.kind for each in marked] != [each.kind for each in part]:
        # It builds another pipeline for another number.
        return [str(Owner.UNKNOWN) if _is_left(each) else "" for each in part]
    return [_owner(each, other) for each, other in zip(part, marked, strict=True)]


def _owner(stage: Stage, marked: Stage) -> str:
    if not _is_left(stage):
        return ""
    return str(Owner.FACTORY if _is_left(marked) else Owner.NUM_PARALLEL_CALLS)


def _is_left(stage: Stage) -> bool:
    return bool(stage.number == tf.data.AUTOTUNE)


def _walk(dataset: Any) -> Iterator[Stage]:
    kind = _KINDS.get(type(dataset).__name__)
    if kind:
        yield Stage(kind, _number(dataset))
    for source in dataset._inputs():  # noqa: SLF001 - nothing public tells
        yield from _walk(source)


def _number(dataset: Any) -> int | None:
    for name in _NUMBERS:
        tensor = getattr(dataset, name, None)
        if tensor is not None:
            return int(tensor)
    return None
