"""The values that `tf.data.AUTOTUNE` chose, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autotune.autotuned_values import AXES, AutotunedValue, AutotunedValues
from autotune.owner import Owner
from autotune.result.data import ResultData


def automatic_lines(result: ResultData) -> Iterator[str]:
    """Yield what was chosen in the recommended program, where it was read."""
    if result.automatic:
        yield from automatic_text(result.automatic)


def automatic_text(automatic: AutotunedValues) -> Iterator[str]:
    """Yield the values that tf.data.AUTOTUNE chose, in a sentence or a few."""
    if automatic.why_not:
        yield f"The values chosen by tf.data.AUTOTUNE were not read: {automatic.why_not}"
        return
    choices = automatic.choices
    parts = ", ".join(dict.fromkeys(_part(each) + _whose(each, choices) for each in choices))
    text = [f"tf.data.AUTOTUNE chose {parts} (after {automatic.seconds:.1f} s of steps)."]
    if moving := dict.fromkeys(_readings(each, choices) for each in choices if each.moving):
        text.append(f"Still changing: {'; '.join(moving)}.")
    if automatic.of(*AXES):
        text.append("`autotune script --freeze-autotune` writes those set by the program into it.")
    if automatic.of(Owner.FACTORY):
        text.append("Those inside dataset_fn can only be fixed in your code.")
    yield " ".join(text)


def _part(choice: AutotunedValue) -> str:
    return f"{choice.title} {choice.amount}{_WHERE.get(choice.owner, '')}"


def _whose(choice: AutotunedValue, choices: Sequence[AutotunedValue]) -> str:
    """Return which worker's it is, where the workers differ."""
    by_worker = {c.worker: {_part(o) for o in choices if o.worker == c.worker} for c in choices}
    same = all(_part(choice) in each for each in by_worker.values())
    return "" if same else f" in worker {choice.worker}"


def _readings(choice: AutotunedValue, choices: Sequence[AutotunedValue]) -> str:
    several = len({each.worker for each in choices}) > 1
    whose = f" in worker {choice.worker}" if several else ""
    return f"{choice.title} {', then '.join(map(str, choice.readings))}{whose}"


_WHERE = {
    Owner.FACTORY: " inside dataset_fn",
    Owner.TENSORFLOW: " by TensorFlow itself",
    Owner.UNKNOWN: " in nested or rewritten stages",
}
