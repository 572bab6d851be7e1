"""How much each axis matters."""

from __future__ import annotations

import random
from itertools import product

from autotune.config import Configuration
from autotune.result.effects import FEWEST, HOW, effects


def rates(noise: float, seed: int = 0) -> dict[Configuration, float]:
    """A full grid in which the batch matters by two, XLA by 1.2, and prefetching not at all."""
    draw = random.Random(seed)
    grid = product((32, 128), (False, True), ("auto", 0), (1, 8))
    every = [
        Configuration(per_replica_batch=b, xla=x, prefetch=p, steps_per_execution=s)  # type: ignore[arg-type]
        for b, x, p, s in grid
    ]
    return {
        c: 1000.0
        * (2.0 if c.per_replica_batch == 128 else 1.0)
        * (1.2 if c.xla else 1.0)
        * 2.718 ** draw.gauss(0, noise)
        for c in every
    }


def test_effects_are_found_in_their_order() -> None:
    """Each is within its interval, and what has none is not claimed."""
    found = effects(rates(noise=0.02))
    assert [each.axis for each in found.effects][:2] == ["per_replica_batch", "xla"]
    batch, xla, *others = found.effects
    assert (batch.worst, batch.best) == (32, 128)
    assert batch.factor.low < 2.0 < batch.factor.high * 1.03
    assert xla.factor.low > 1
    assert all(each.factor.value < 1.03 for each in others)
    assert found.predicted
    assert found.predicted > 0.9


def test_every_value_is_told_against_the_worst() -> None:
    """The worst is one."""
    batch = effects(rates(noise=0.02)).effects[0]
    assert [value for value, _ in batch.values] == [32, 128]
    assert batch.values[0][1] == 1.0


def test_noise_is_not_taken_for_an_effect() -> None:
    """Where the settings predict nothing, no effect is told."""
    same = {c: 1000.0 * random.Random(i).uniform(0.8, 1.2) for i, c in enumerate(rates(noise=0))}
    found = effects(same)
    assert found.effects == ()
    assert found.predicted is not None


def test_few_configurations_tell_nothing() -> None:
    """It says how many there were, and does not try."""
    few = dict(list(rates(noise=0.02).items())[: FEWEST - 1])
    found = effects(few)
    assert found.predicted is None
    assert found.effects == ()
    assert found.configurations == FEWEST - 1


def test_equal_rates_are_no_effect() -> None:
    """Nothing to explain is no reason to divide by zero."""
    assert effects(dict.fromkeys(rates(noise=0), 1000.0)).effects == ()


def test_how_a_training_is_distributed_is_one_axis() -> None:
    """What matters to several replicas only is compared among them."""
    shapes = [
        Configuration(strategy="mirrored", replicas_per_worker=2, reduction=reduction)
        for reduction in ("one_device", "hierarchical")
    ]
    every = [c.but(per_replica_batch=b) for c in (Configuration(), *shapes) for b in (16, 32, 64)]
    rate = {c: (500.0 if c.distributed else 1000.0) * (1 + i / 100) for i, c in enumerate(every)}
    found = effects(rate)
    assert found.effects[0].axis == HOW
    assert (found.effects[0].worst, found.effects[0].best) == ("Mirrored x2", "one device")
    assert "strategy" not in [each.axis for each in found.effects]
    reduction = next(each for each in found.effects if each.axis == "reduction")
    assert {value for value, _ in reduction.values} == {"one_device", "hierarchical"}
