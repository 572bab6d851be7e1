"""What AUTOTUNE settled on, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autotune.automatic import AXES, Automatic, Choice
from autotune.owner import Owner

_WHERE = {
    Owner.FACTORY: " inside dataset_fn",
    Owner.TENSORFLOW: " by TensorFlow itself",
    Owner.UNKNOWN: " in nested or rewritten stages",
}


def settled(automatic: Automatic | None) -> Iterator[str]:
    """Yield what was read out, in a sentence or a few; nothing if nobody has looked."""
    if automatic is None:
        return
    if automatic.why_not:
        yield f"The values chosen by tf.data.AUTOTUNE were not read: {automatic.why_not}"
        return
    choices = automatic.choices
    parts = ", ".join(dict.fromkeys(_part(each) + _whose(each, choices) for each in choices))
    told = [f"tf.data.AUTOTUNE chose {parts} (after {automatic.seconds:.1f} s of steps)."]
    told += _moving(choices)
    told += _freezing(automatic)
    yield " ".join(told)


def _part(choice: Choice) -> str:
    return f"{choice.title} {choice.amount}{_WHERE.get(choice.owner, '')}"


def _whose(choice: Choice, choices: Sequence[Choice]) -> str:
    """Return which worker's it is, where the workers differ."""
    told = {each.worker: {_part(c) for c in choices if c.worker == each.worker} for each in choices}
    return "" if all(_part(choice) in each for each in told.values()) else _of(choice)


def _of(choice: Choice) -> str:
    return f" in worker {choice.worker}"


def _moving(choices: Sequence[Choice]) -> Iterator[str]:
    several = len({each.worker for each in choices}) > 1
    courses = dict.fromkeys(
        f"{each.title} {', then '.join(map(str, each.readings))}{_of(each) if several else ''}"
        for each in choices
        if each.moving
    )
    if courses:
        yield f"Still changing: {'; '.join(courses)}."


def _freezing(automatic: Automatic) -> Iterator[str]:
    if automatic.of(*AXES):
        yield "`autotune script --freeze-autotune` writes those set by the program into it."
    if automatic.of(Owner.FACTORY):
        yield "Those inside dataset_fn can only be fixed in your code."
