"""Which global batches may be recommended: the own, and others that are significantly faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from autotune.search.posterior import Joint
from autotune.search.question import FEWEST

SURE = 0.975
"""Probability that the best of another batch beats the best of the own, all that an example teaches
less there included."""


class BatchPair(NamedTuple):
    """The best of another batch and the best of the own: their positions in a posterior."""

    other: int
    own: int


def admitted(
    joint: Joint, kinds: Sequence[Sequence[int]], own: Sequence[bool], runs: Sequence[int]
) -> tuple[set[int], BatchPair | None]:
    """Return which candidates may be recommended, and two that have to be distinguished.

    What did not run may turn out to pay. Another batch has to beat the best of the own that was
    measured, and no single run decides: several configurations with other batches speak for each
    other. Where nothing distributed has the own batch, another one has to beat one device with it.

    Args:
        joint: The posterior of the candidates.
        kinds: Positions of those on one device, and of those on several.
        own: Whether each has the user's own batch.
        runs: How often each was measured.
    """
    allowed = {k for k, n in enumerate(runs) if own[k] or not n}
    question: BatchPair | None = None
    mine: list[int] = []
    for kind in kinds:
        mine = [k for k in kind if own[k]] or mine
        others = [k for k in kind if runs[k] and not own[k]]
        if not mine or not others:
            continue
        measured = [k for k in mine if runs[k]]
        best = max(measured or mine, key=lambda k: joint.mean[k])
        faster = [k for k in others if joint.mean[k] > joint.mean[best]]
        known = all(sum(runs[k] for k in side) >= FEWEST for side in (others, mine))
        sure = [k for k in faster if known and _significantly(joint, k, best)]
        allowed.update(sure)
        if faster and not sure and question is None:
            question = BatchPair(max(faster, key=lambda k: joint.mean[k]), best)
    return allowed, question


def _significantly(joint: Joint, one: int, other: int) -> bool:
    mean, sd = joint.gap(one, other)
    return float(np.mean(ndtr(mean / sd))) >= SURE
