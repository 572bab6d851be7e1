"""Do the weights take the trajectory that they take on one device with the same batches?

How far two right programs may be apart is measured, not guessed. Replicas add up gradients in
another order than one device does, so every step rounds differently. One device is therefore run
again from the neighbouring numbers of its first weights, with the examples of each batch in another
order: what that changes is what roundings change in this model, much in a chaotic one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autotune.base import Scalar
from autotune.checks.certificate import Check, failed, passed, see, undecided
from autotune.config import Configuration
from autotune.engine.tasks import Kind, RankObservation
from autotune.reason import CheckKind, Seen

NAME = "same result as one device"
SAFETY = 32.0
"""Times what other roundings have changed. Two runs are a small sample of that, and a sketch of it
is right within a fifth; mistakes are larger than roundings by four orders of magnitude."""
MISTAKE = 0.25
"""Share of the way that a training went. The smallest mistake in averaging counts half of the
gradient or twice of it, which leads half of that way astray at least; this is half of that."""
CLEAR = 0.01
"""Share of its own way by which roundings may move a variable that is checked by itself."""
EPSILON = {"mixed_bfloat16": 2.0**-7, "mixed_float16": 2.0**-10}
"""Relative size of a rounding in the types in which gradients are computed, if not in float32."""
FIGURE = 0.005
"""Share by which a logged loss must differ to be shown with another figure."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far a variable, or several, went astray."""

    name: str
    kind: Kind
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
        return SAFETY * self.spread + self.rounding

    @property
    def figures(self) -> dict[str, Scalar]:
        moved = self.moved or math.inf
        return {"share": self.delta / moved, "explained": self.tolerance / moved}

    @property
    def plain_mistake(self) -> bool:
        """Whether nothing but a mistake explains it."""
        clear = self.spread <= CLEAR * self.moved
        return clear and self.delta > max(self.tolerance, MISTAKE * self.moved)


def check_trajectory(
    rank: RankObservation,
    references: Sequence[RankObservation],
    configuration: Configuration,
    steps: int,
) -> Check:
    """Return whether the weights of the first replica went where one device brings them.

    The first of the references is one device unchanged, the others have other roundings.
    """
    if unlike := _unlike(rank, references):
        return undecided(NAME, see(unlike))
    parts = [*_deviations(rank, references, configuration, steps)]
    learned = [part for part in parts if part.kind == "trainable"]
    sums = {
        name: math.hypot(*(getattr(each, name) for each in learned))
        for name in ("delta", "spread", "rounding", "moved")
    }
    whole = Deviation(name="the model", kind="trainable", **sums)
    if not all(math.isfinite(part.delta + part.spread) for part in parts):
        return undecided(NAME, see(CheckKind.NOT_FINITE, steps=steps))
    wrong = [each for each in (whole, *parts) if each.plain_mistake]
    if wrong:
        figures = {**wrong[0].figures, "name": wrong[0].name}
        replicas = configuration.replicas
        return failed(NAME, see(CheckKind.ASTRAY, steps=steps, replicas=replicas, **figures))
    if whole.tolerance >= MISTAKE * whole.moved:
        kind = CheckKind.UNCLEAR if whole.moved else CheckKind.UNMOVED
        return undecided(NAME, see(kind, steps=steps, **whole.figures))
    left_out = any("BatchNormalization" in layer for layer in rank.silenced)
    note = [see(CheckKind.NORMALIZATION_LEFT_OUT)] * left_out
    if whole.delta > whole.tolerance:
        return undecided(NAME, see(CheckKind.A_LITTLE_ASTRAY, steps=steps, **whole.figures), *note)
    same = see(CheckKind.SAME_RESULT, steps=steps, **whole.figures)
    return passed(NAME, same, *_logged(rank, references), *note)


def _deviations(
    rank: RankObservation,
    references: Sequence[RankObservation],
    configuration: Configuration,
    steps: int,
) -> Iterator[Deviation]:
    """Yield how far each variable that is learned, or that the optimizer keeps, went astray."""
    mine, runs = rank.copies[0].end, [each.copies[0] for each in references]
    coarse = EPSILON.get(configuration.precision, 0.0)
    sums = math.log2(configuration.global_batch + 1)
    for index, variable in enumerate(rank.variables):
        if variable.kind not in ("trainable", "optimizer") or not variable.epsilon:
            continue
        end, *others = (each.end[index] for each in runs)
        size = math.hypot(*end)
        # Optimizers may have no variables before the first step.
        moved = math.dist(end, runs[0].start[index]) if index < len(runs[0].start) else size
        yield Deviation(
            name=variable.name,
            kind=variable.kind,
            delta=math.dist(mine[index], end),
            spread=max((math.dist(each, end) for each in others), default=0.0),
            # Each update rounds the weight, each gradient its sums.
            rounding=steps * variable.epsilon * size + max(coarse, variable.epsilon) * sums * moved,
            moved=moved,
        )


def _unlike(rank: RankObservation, references: Sequence[RankObservation]) -> CheckKind | None:
    """Return why the runs cannot be compared."""
    if not references:
        return CheckKind.NOT_REPLAYED
    kinds = [v.kind for v in rank.variables]
    if any([v.kind for v in each.variables] != kinds for each in references):
        return CheckKind.OTHER_VARIABLES
    if any(len(each.losses) != len(rank.losses) for each in references):
        return CheckKind.OTHER_LENGTH
    return None


def _logged(rank: RankObservation, references: Sequence[RankObservation]) -> Iterator[Seen]:
    """Yield a loss that is logged otherwise than on one device, though the weights are right."""
    mine, theirs = rank.losses[-1], references[0].losses[-1]
    if not (math.isfinite(mine) and math.isfinite(theirs)) or abs(theirs) < 1e-9:
        return
    if abs(mine / theirs - 1) >= FIGURE:
        yield see(CheckKind.OTHER_LOSS, ratio=mine / theirs)
