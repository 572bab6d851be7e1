"""What an example teaches at another batch size: from gradients to examples needed.

Examples per second say nothing of that. The gradients of small batches at fixed weights tell how
much of a step is signal and how much is noise, and so how many more examples a larger batch needs
for the same progress, with the learning rate that goes with it. Trainings to the same loss replace
what they let predict.
"""

from autotune.learning.efficiency import (
    WARM_UP_SHARE,
    Efficiency,
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
from autotune.learning.race import (
    Curve,
    Examples,
    Look,
    Race,
    Raced,
    Trained,
    Unraced,
    examples_to,
    lowest,
    smoothed,
    thinned,
)

__all__ = [
    "BATCHES",
    "RULES",
    "WARM_UP_SHARE",
    "Curve",
    "Efficiency",
    "Examples",
    "GradientProbe",
    "GradientSums",
    "Learning",
    "Look",
    "Moments",
    "Race",
    "Raced",
    "Trained",
    "Unpredictable",
    "Unraced",
    "UpdateRule",
    "examples_needed",
    "examples_to",
    "learning_rate_factor",
    "lowest",
    "predicted_examples",
    "smoothed",
    "thinned",
    "warm_up_examples",
]
