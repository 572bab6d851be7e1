"""Whether an epoch is as short as was asked for, and how many machines that would take."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.result.data import ResultData
from autotune.stats import Interval
from autotune.text import roughly


def target_lines(result: ResultData) -> Iterator[str]:
    """Yield how long an epoch takes beside what was asked for; nothing where nobody asked."""
    wanted, rate, examples = (
        result.options.epoch_in,
        result.examples_per_second,
        result.facts.examples,
    )
    if wanted is None:
        return
    if not rate or not examples:
        yield "How long an epoch takes is not known: --examples says how many there are."
        return
    epoch = rate.under(examples)
    asked = f"{roughly(wanted)} {'was' if wanted == 1 else 'were'} asked for"
    yield f"An epoch takes {_in_words(epoch)} as recommended; {asked}."
    if epoch.value > wanted:
        yield _on_more_machines(result, examples, wanted)


def _on_more_machines(result: ResultData, examples: int, wanted: float) -> str:
    """Return on how many machines it is predicted, and at what price; or by how much none does."""
    best, found = result.best_distributed, result.diagnosis
    if best is None or found is None or not found.predicted:
        return "More machines are predicted by a search on two of them at least: --engine ray."
    batch = best.per_replica_batch
    epochs = {
        each.hosts: each.seconds.under(each.hosts * batch).under(examples)
        for each in found.predicted
    }
    enough = [hosts for hosts, epoch in epochs.items() if epoch.value <= wanted]
    if not enough:
        hosts = min(epochs, key=lambda each: epochs[each].value)
        over = epochs[hosts].value / wanted
        return (
            f"No more machines are predicted to do it: {hosts} come nearest, with "
            f"{_in_words(epochs[hosts])}, {over:.2g} times what was asked for."
        )
    hosts, epoch = enough[0], epochs[enough[0]]
    price = result.options.price
    costs = f", at a price of {hosts * epoch.value / 3600 * price:.3g}" if price else ""
    text = f"{hosts} machines are predicted to take {_in_words(epoch)}{costs}"
    return f"{text}; none of it was measured."


def _in_words(seconds: Interval) -> str:
    return f"{roughly(seconds.value)} ({roughly(seconds.low)} to {roughly(seconds.high)})"
