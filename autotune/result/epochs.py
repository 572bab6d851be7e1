"""How long an epoch takes, on this machine and on more of them, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.objective import COST, EPOCH, Scorer, devices
from autotune.result.data import ResultData
from autotune.stats.intervals import Interval
from autotune.strategies import title
from autotune.text import plural, rate, roughly


def target_lines(result: ResultData) -> Iterator[str]:
    """Yield how long an epoch takes beside what was asked for; nothing where nobody asked."""
    wanted = result.options.epoch_in
    if wanted is None:
        return
    found, examples = result.examples_per_second, result.facts.examples
    if not found or not examples:
        yield "How long an epoch takes is not known: --examples says how many there are."
        return
    epoch = found.under(examples)
    asked = f"{roughly(wanted)} {'was' if wanted == 1 else 'were'} asked for"
    yield f"An epoch of {result.facts.how_many} takes {_in_words(epoch)} as recommended; {asked}."
    if epoch.value > wanted:
        yield _on_more_machines(result, examples, wanted)


def _on_more_machines(result: ResultData, examples: int, wanted: float) -> str:
    """Return on how many machines it is predicted, and at what price; or by how much none does."""
    best, found = result.answer.several, result.diagnosis
    if best is None or found is None or not found.predicted:
        return "What more machines bring is predicted by a search on at least two: --engine ray."
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
            f"No number of machines is predicted to reach it: {hosts} come nearest, with "
            f"{_in_words(epochs[hosts])}, {over:.2g} times what was asked for."
        )
    hosts, epoch = enough[0], epochs[enough[0]]
    price = result.options.price
    costs = f", at a price of {hosts * epoch.value / 3600 * price:.3g}" if price else ""
    text = f"{hosts} machines are predicted to take {_in_words(epoch)}{costs}"
    return f"{text}; none of it was measured."


def _in_words(seconds: Interval) -> str:
    return f"{roughly(seconds.value)} ({roughly(seconds.low)} to {roughly(seconds.high)})"


def cost_lines(result: ResultData) -> Iterator[str]:
    """Yield what an epoch costs, and what distribution does; nothing where nobody asked."""
    price, found = result.options.price, result.examples_per_second
    if price is not None and found:
        scorer = Scorer(objective=COST, facts=result.facts, machine=result.machine)
        hours = 1 / (scorer.of_rate(result.config, found.value) or float("inf"))
        costs = f"{hours * price:.3g} on {plural(devices(result.config, result.machine), 'device')}"
        many = result.facts.how_many if result.facts.examples else f"{EPOCH:,} examples"
        yield f"An epoch of {many} costs {costs}: {hours:.3g} device hours at {price:g} each."
    best, own = result.answer.entry(result.answer.several), result.answer.own
    by_device = result.scorer.objective.by_device
    if best is None or (price is None and not by_device):
        return
    ratio = best.ratio.value
    more = devices(best.configuration, result.machine) / devices(own, result.machine)
    faster = ratio * more if by_device else ratio
    if more != 1:
        yield (
            f"{title(best.configuration)} takes {1 / faster:.2f} times the time of your own "
            f"settings for {more / faster:.2f} times the money."
        )


def lengths_lines(result: ResultData) -> Iterator[str]:
    """Yield how much the examples of an epoch differ in their length."""
    seen, found = result.facts.first_pass, result.examples_per_second
    if seen is None or seen.mean_length is None or found is None:
        return
    low, high = min(seen.lengths), max(seen.lengths)
    tokens = rate(found.value * seen.mean_length)
    yield (
        f"Examples vary in length, between {low:.3g} and {high:.3g} on average in parts of an "
        f"epoch; {rate(found.value)} of them a second are about {tokens} tokens, time steps or "
        "pixels, padding included."
    )


def between_lines(result: ResultData) -> Iterator[str]:
    """Yield what validation and checkpoints take after an epoch, which no trial has."""
    found, examples = result.between, result.facts.examples
    if found is None or not found.seconds or not examples or result.examples_per_second is None:
        return
    epoch = examples / result.examples_per_second.value
    parts = [("validation", found.validation), ("a checkpoint", found.checkpoint)]
    each = " and ".join(f"{name} takes {seconds:.2g} s" for name, seconds in parts if seconds)
    yield (
        f"After each epoch of {result.facts.bound}{epoch:.3g} s, which is what was tuned, {each}: "
        f"{found.seconds / (epoch + found.seconds):.0%} of the time."
    )
