"""Student's t distribution."""

from __future__ import annotations


def t_quantile(degrees: float, probability: float) -> float:
    """Return the value below which a variable of this distribution lies with a probability.

    Args:
        degrees: Of freedom.
        probability: Between 0 and 1.
    """
    # Takes half a second, and most commands and the service's processes need no quantile.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))
