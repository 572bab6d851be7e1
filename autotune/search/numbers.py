"""What AUTOTUNE settled on, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autotune.automatic import AXES, Automatic, Choice
from autotune.owner import Owner

_WHERE = {
    Owner.FACTORY: " inside of dataset_fn",
    Owner.TENSORFLOW: " by TensorFlow itself",
    Owner.UNKNOWN: " within other stages or rewritten ones",
}


def settled(automatic: Automatic | None) -> Iterator[str]:
    """Yield what was read out, in a sentence or a few; nothing if nobody has looked."""
    if automatic is None:
        return
    if automatic.why_not:
        yield f"What AUTOTUNE settled on was not read out: {automatic.why_not}"
        return
    choices = automatic.choices
    parts = ", ".join(dict.fromkeys(_part(each) + _whose(each, choices) for each in choices))
    told = [f"AUTOTUNE settled on {parts} (after {automatic.seconds:.1f} s of steps)."]
    told += _moving(choices)
    told += _freezing(automatic)
    yield " ".join(told)


def _part(choice: Choice) -> str:
    return f"{choice.title} {choice.value} {choice.unit}{_WHERE.get(choice.owner, '')}"


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
        yield f"Not at rest yet: {'; '.join(courses)}."


def _freezing(automatic: Automatic) -> Iterator[str]:
    if automatic.of(*AXES):
        yield "`autotune script` with --freeze-autotune writes the program's own ones into it."
    if automatic.of(Owner.FACTORY):
        yield "What is inside of dataset_fn only you can freeze."
