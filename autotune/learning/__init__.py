"""Statistical efficiency: what an example teaches at another global batch than the user's own.

A process at the user's own batch takes gradients (`engine/child/learn.py`), `gradients` adds them
up, and `efficiency` predicts from them. An objective reads `Learning.efficiency` of a batch, a
program `Learning.scaling`.
"""

from autotune.learning.efficiency import (
    Learning as Learning,
    Scaling as Scaling,
    Unpredictable as Unpredictable,
    usual_rate_factor as usual_rate_factor,
)
