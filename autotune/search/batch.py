"""What a changed global batch means for the training, and the best that leaves it unchanged.

A training with k times as many examples in a step usually takes a learning rate that is k times as
large with SGD (Goyal et al., 2017, "Accurate, Large Minibatch SGD"), the square root of k times
with Adam and its relatives (Malladi et al., 2022, "On the SDEs and Scaling Rules for Adaptive
Gradient Algorithms"), reached over the first epochs; past a critical batch it takes more examples
for the same loss (McCandlish et al., 2018).
"""

from __future__ import annotations

import math

from autotune.result import Alternative
from autotune.search.search import Findings

LINEAR = frozenset({"SGD"})
"""Optimizers whose learning rate grows with the batch itself."""


def unchanged_batch(findings: Findings) -> Alternative | None:
    """Return the fastest measured configuration with the global batch of the defaults.

    None where the recommended one has it, or nothing with it was measured.
    """
    usual, history = findings.default.global_batch, findings.history
    if findings.recommended.global_batch == usual:
        return None
    ranked = [*history.ranked(distributed=False), *history.ranked(distributed=True)]
    scores = {c: history.estimate(c).value for c in ranked if c.global_batch == usual}
    if not scores:
        return None
    best = max(scores, key=lambda c: scores[c])
    return Alternative(
        configuration=best,
        examples_per_second=history.throughput(best),
        share=scores[best] / history.estimate(findings.recommended).value,
    )


def learning_rate(optimizer: str, times: float) -> str:
    """Return what usually becomes of the learning rate, in words.

    Args:
        optimizer: Name of the optimizer's class.
        times: The new global batch as a multiple of the old one.
    """
    factor = times if optimizer in LINEAR else math.sqrt(times)
    name = optimizer or "the optimizer"
    if factor >= 1:
        return (
            f"usually the learning rate of {name} is multiplied by about {factor:.2g}, with a "
            "warm-up over the first epochs"
        )
    return f"usually the learning rate of {name} is divided by about {1 / factor:.2g}"
