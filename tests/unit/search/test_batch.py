"""A recommendation with another global batch says what that means, and how to keep one's own."""

import pytest

from .conftest import Tuner, speed


@pytest.mark.parametrize("distributed", [0.5, 1.6], ids=["one device", "distribute"])
def test_every_recommendation_with_another_batch_speaks_of_the_learning_rate(
    tuner: Tuner, distributed: float
) -> None:
    """Whether it is the batch of one device that grew or that of all replicas."""
    result = tuner(speed(distributed=distributed), options={"budget": 400.0})
    assert result.config.distributed is (distributed > 1)
    assert result.config.global_batch != 32
    [told] = [each for each in result.reasons if "changes convergence" in each]
    assert f"global batch is {result.config.global_batch} instead of 32" in told
    assert "learning rate of Adam is multiplied by" in told
    assert "`global_batch=32` keeps it unchanged." in result.reasons


def test_a_held_batch_is_nobodys_surprise(tuner: Tuner) -> None:
    result = tuner(speed(), options={"global_batch": 128})
    assert not any("changes convergence" in each for each in result.reasons)
