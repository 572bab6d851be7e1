"""Do the weights take the trajectory that they take on one device with the same batches?

How far two right programs may be apart is measured, not guessed. Replicas add up gradients in
another order than one device does, so every step rounds differently. One device is therefore run
again from the neighbouring numbers of its first weights, with the examples of each batch in another
order: what that changes is what roundings change in this model, much in a chaotic one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autotune.certificate import Check, failed, passed, undecided
from autotune.run.observation import Numbers, Variable, Witness

NAME = "same result as one device"
SAFETY = 32.0
"""Times what other roundings have changed. Two runs are a small sample of that, and a sketch of it
is right within a fifth; mistakes are larger than roundings by four orders of magnitude."""
MISTAKE = 0.25
"""Share of the way that a training went. The smallest mistake in averaging counts half of the
gradient or twice of it, which leads half of that way astray at least; this is half of that."""
CLEAR = 0.01
"""Share of its own way by which roundings may move a variable that is judged by itself."""
FIGURE = 0.005
"""Share by which a logged loss must differ to be shown with another figure."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far a variable, or several, went astray."""

    name: str
    delta: float
    """Distance from where one device came to."""
    spread: float
    """Largest distance between runs of one device that differ in roundings."""
    rounding: float
    """What roundings may do where they happen to be the same in those runs."""
    moved: float
    """Distance from the start."""

    @property
    def tolerance(self) -> float:
        """How far it may be off."""
        return SAFETY * self.spread + self.rounding

    @property
    def share(self) -> float:
        """How far it is off, as a share of the way."""
        return self.delta / self.moved if self.moved else 0.0

    @property
    def plain_mistake(self) -> bool:
        """Whether nothing but a mistake explains it."""
        clear = self.spread <= CLEAR * self.moved
        return clear and self.delta > max(self.tolerance, MISTAKE * self.moved)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What was taken on the way."""

    count: int
    batch: int
    """Examples in each, over all replicas."""
    replicas: int
    epsilon: float = 0.0
    """Relative size of a rounding in what computes gradients; that of the variables, if smaller."""


def check_trajectory(witness: Witness, references: Sequence[Witness], taken: Steps) -> Check:
    """Return whether the weights went where one device brings them.

    Args:
        witness: The first replica's process.
        references: One device: as it is, and with other roundings.
        taken: The steps of each.
    """
    steps = taken.count
    found = _unlike(witness, references)
    if found:
        return undecided(NAME, found)
    parts = deviations(witness, references, taken)
    whole = _sum([part for part, kind in parts if kind == "trainable"])
    if not all(math.isfinite(part.delta + part.spread) for part, _ in parts):
        return undecided(NAME, f"After {steps} steps the weights are not finite.")
    wrong = [each for each, _ in [(whole, ""), *parts] if each.plain_mistake]
    if wrong:
        return failed(NAME, _astray(wrong[0], taken))
    if whole.tolerance >= MISTAKE * whole.moved:
        return undecided(NAME, _cannot_see(whole, steps))
    aside = _aside(witness)
    if whole.delta > whole.tolerance:
        return undecided(NAME, _a_little(whole, steps) + aside)
    return passed(NAME, _equal(whole, steps) + _logged(witness, references) + aside)


def deviations(
    witness: Witness, references: Sequence[Witness], taken: Steps
) -> list[tuple[Deviation, str]]:
    """Return how far each variable that is learned, or that the optimizer keeps, went astray."""
    mine, first = witness.copies[0], references[0].copies[0]
    found: list[tuple[Deviation, str]] = []
    for index, variable in enumerate(witness.variables):
        if variable.kind not in ("trainable", "optimizer") or not variable.epsilon:
            continue
        start = first.start[index] if index < len(first.start) else None
        others = [each.copies[0].end[index] for each in references[1:]]
        theirs = [first.end[index], *others]
        found.append((_deviation(variable, mine.end[index], theirs, start, taken), variable.kind))
    return found


def _deviation(
    variable: Variable,
    mine: Numbers,
    theirs: Sequence[Numbers],
    start: Numbers | None,
    taken: Steps,
) -> Deviation:
    end = theirs[0]
    moved = math.dist(end, start) if start else math.hypot(*end)
    return Deviation(
        name=variable.name,
        delta=math.dist(mine, end),
        spread=max((math.dist(each, end) for each in theirs[1:]), default=0.0),
        rounding=_rounding(variable, math.hypot(*end), moved, taken),
        moved=moved,
    )


def _rounding(variable: Variable, size: float, moved: float, taken: Steps) -> float:
    """Return what roundings may do: each update rounds the weight, each gradient its sums."""
    gradient = max(taken.epsilon, variable.epsilon) * math.log2(taken.batch + 1)
    return taken.count * variable.epsilon * size + gradient * moved


def _sum(parts: Sequence[Deviation]) -> Deviation:
    return Deviation(
        name="the model",
        delta=math.hypot(*(each.delta for each in parts)),
        spread=math.hypot(*(each.spread for each in parts)),
        rounding=math.hypot(*(each.rounding for each in parts)),
        moved=math.hypot(*(each.moved for each in parts)),
    )


def _unlike(witness: Witness, references: Sequence[Witness]) -> str:
    """Return why the runs cannot be compared, or nothing."""
    if not references:
        return "Ragged or sparse batches cannot be replayed on one device for comparison."
    kinds = [v.kind for v in witness.variables]
    if any([v.kind for v in each.variables] != kinds for each in references):
        return "The model has different variables on one device, so weights cannot be compared."
    if any(len(each.losses) != len(witness.losses) for each in references):
        return "A callback stopped training at a different step than on one device."
    return ""


def _astray(part: Deviation, taken: Steps) -> str:
    explained = _tiny(part.tolerance / part.moved)
    return (
        f"After {taken.count} steps on the same batches, {part.name} differs from single-device "
        f"training by {part.share:.0%} of its change; rounding explains {explained}. Its "
        f"{taken.replicas} replicas do not average loss or gradients over the global batch."
    )


def _cannot_see(part: Deviation, steps: int) -> str:
    if not part.moved:
        return f"No weight changed within {steps} steps, so training cannot be compared."
    return (
        f"Cannot tell within {steps} steps whether it trains like one device: rounding or random "
        f"numbers may account for {part.tolerance / part.moved:.0%} of the change in weights."
    )


def _a_little(part: Deviation, steps: int) -> str:
    return (
        f"After {steps} steps its weights differ from single-device training by "
        f"{_tiny(part.share)} of their change; rounding explains only "
        f"{_tiny(part.tolerance / part.moved)}. Masks, sample weights or normalization may be "
        "averaged per replica."
    )


def _equal(part: Deviation, steps: int) -> str:
    return (
        f"After {steps} steps on the same batches its weights match single-device training to "
        f"within {_tiny(part.share)} of their change (rounding explains "
        f"{_tiny(part.tolerance / part.moved)})."
    )


def _logged(witness: Witness, references: Sequence[Witness]) -> str:
    """Tell of a loss that is logged otherwise than on one device, though the weights are right."""
    mine, theirs = witness.losses[-1], references[0].losses[-1]
    if not (math.isfinite(mine) and math.isfinite(theirs)) or abs(theirs) < 1e-9:
        return ""
    ratio = mine / theirs
    return (
        ""
        if abs(ratio - 1) < FIGURE
        else f" The loss it logs is {ratio:.2f} times that of one device."
    )


def _aside(witness: Witness) -> str:
    if not any("BatchNormalization" in kind for kind in witness.silenced):
        return ""
    return (
        " BatchNormalization was left out of the comparison: each replica normalizes by its own "
        "part of the batch; synchronized=True would change that."
    )


def _tiny(share: float) -> str:
    return f"{share * 100:.2g}%" if share < 0.001 else f"{share:.1%}"
