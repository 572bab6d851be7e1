"""What a training costs, in sentences: how much faster several devices are, and for what more."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.config import Configuration
from autotune.objective import COST, Scorer, devices
from autotune.result import Result
from autotune.strategies import title
from autotune.wording import plural


def cost_lines(result: Result) -> Iterator[str]:
    """Yield what an epoch costs, and what distribution does; nothing where nobody asked."""
    price = result.options.price
    if price is not None and result.examples_per_second:
        yield _epoch(result, result.examples_per_second.value, price)
    if price is not None or result.objective == COST.name:
        yield from _bargain(result)


def _epoch(result: Result, rate: float, price: float) -> str:
    scorer = Scorer(objective=COST, facts=result.facts, machine=result.machine)
    hours = 1 / (scorer.of_rate(result.config, rate) or float("inf"))
    count = plural(_devices(result, result.config), "device")
    paid = f"{hours:.3g} device hours at {price:g} each"
    return f"An epoch costs {hours * price:.3g} on {count}: {paid}."


def _bargain(result: Result) -> Iterator[str]:
    """Yield how much faster the best distributed configuration is, and for how much more."""
    best, gain = result.best_distributed, result.grounds.decision.gain
    if best is None or gain is None:
        return
    more = _devices(result, best) / _devices(result, result.one_device)
    faster = gain.value * more if result.objective == COST.name else gain.value
    if more != 1:
        yield (
            f"{title(best)} is {faster:.2f} times as fast as the best single device for "
            f"{more / faster:.2f} times the money."
        )


def _devices(result: Result, configuration: Configuration) -> int:
    return devices(configuration, result.machine)
