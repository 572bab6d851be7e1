"""What an example teaches at another batch size: from gradients to examples needed.

Examples per second say nothing of that. The gradients of small batches at fixed weights tell how
much of a step is signal and how much is noise, and so how many more examples a larger batch needs
for the same progress, with the learning rate that goes with it.
"""

from autotune.learning.efficiency import (
    WARM_UP_SHARE,
    Efficiency,
    Examples,
    examples_needed,
    learning_rate_factor,
    predicted_examples,
    warm_up_examples,
)
from autotune.learning.gradients import (
    BATCHES,
    RULES,
    GradientProbe,
    GradientSums,
    Learning,
    Moments,
    Unpredictable,
    UpdateRule,
)

__all__ = [
    "BATCHES",
    "RULES",
    "WARM_UP_SHARE",
    "Efficiency",
    "Examples",
    "GradientProbe",
    "GradientSums",
    "Learning",
    "Moments",
    "Unpredictable",
    "UpdateRule",
    "examples_needed",
    "learning_rate_factor",
    "predicted_examples",
    "warm_up_examples",
]
