"""The answer of a result in sentences: time first, then the verdict, then what to do."""

from collections.abc import Iterator
from typing import NamedTuple

from autotune.answer import Ended, Further, Verdict
from autotune.base import Scalar
from autotune.objective import devices
from autotune.reason.sentences import BECAUSE, ENDINGS, VERDICTS, rule_text
from autotune.result.batches import batch_change
from autotune.result.stored import ResultData
from autotune.strategies import in_short, title
from autotune.text import roughly
from autotune.workload import own_settings
from autotune.workload.facts import LengthSource


def headline(result: ResultData) -> str:
    """Return how long the training takes by the recommended settings, and by the own ones."""
    answer = result.answer
    own, new = answer.own_seconds, answer.recommended_seconds
    searched = f"after {_time(answer.searched)} of search"
    most = "at most " * answer.length.at_most
    if answer.recommended == answer.own:
        time = f"takes {most}{_time(own.value)}" if own else "goes on"
        return f"Training {time} with {own_title(result)}, {searched}."
    if own is None or new is None:
        return f"How long the training takes is not known, {searched}."
    verb = "takes" if answer.base else "is expected to take"
    times = f"{most}{_time(new.value)} instead of {_time(own.value)}"
    if result.scorer.objective.by_device:
        paid = (devices(each, result.machine) for each in (answer.recommended, answer.own))
        costs = [_cost(result, n * time.value) for n, time in zip(paid, (new, own), strict=True)]
        unit = "" if result.options.price else " device hours"
        costing = f"costs {costs[0]} instead of {costs[1]}{unit}"
        return f"Training {costing} and {verb} {times}, {searched}."
    return f"Training {verb} {times}, {searched}."


def verdict_sentences(result: ResultData) -> Iterator[str]:
    """Yield the verdict with its reason, and whether more search would pay."""
    answer = result.answer
    yield f"{VERDICTS[answer.verdict]}: {BECAUSE[answer.because].format(**_figures(result))}"
    if answer.length.source is LengthSource.ASSUMED:
        yield "An hour is assumed, as nothing says how long it trains."
    yield from _going_on(result)
    yield from batch_change(result)
    if result.trials and answer.base is None:
        yield "Your own settings did not run, so all ratios to them are only expected."


def summary(result: ResultData) -> str:
    return " ".join([headline(result), *verdict_sentences(result)])


class Change(NamedTuple):
    """A setting that is recommended to be changed."""

    name: str
    own: Scalar
    """Value of the user's own settings; empty where they have none."""
    new: Scalar


def changes(result: ResultData) -> list[Change]:
    """Return what of the own settings is recommended to be changed, in the order of the axes."""
    own, new = result.answer.own.values(), result.config.values()
    return [Change(n, own.get(n, ""), value) for n, value in new.items() if own.get(n) != value]


def settings(result: ResultData) -> str:
    """Return what is recommended."""
    own = f": {own_title(result)}" if result.config == result.answer.own else ""
    return f"{in_short(result.config)}{own}."


def own_title(result: ResultData) -> str:
    """Return what the own settings of a search are called: the user's own, or near them."""
    own, yours = result.answer.own, own_settings(result.facts, result.options.global_batch)
    exact = own in (yours, yours.taking({"run_eagerly": False, "xla": False}))
    return "your own settings" if exact else "the settings closest to your own in this space"


def _going_on(result: ResultData) -> Iterator[str]:
    """Yield why the search ended, and what more of it would take and save."""
    answer = result.answer
    further, ended = answer.further, answer.ended
    saves = _saving(result, further) if further else ""
    if ended is not None and answer.verdict is Verdict.UNDECIDED and further:
        yield (
            f"{ENDINGS[ended]}; a further {_time(further.seconds)} of search "
            f"would be expected to save {saves} of training."
        )
    elif ended is Ended.PAID and further:
        more = _time(further.seconds)
        less = "less" if saves == more else saves
        yield f"More search would not pay: a further {more} would be expected to save {less}."
    elif ended is Ended.INTERRUPTED:
        yield f"{ENDINGS[ended]}."


def _saving(result: ResultData, further: Further) -> str:
    if not result.scorer.objective.by_device:
        return _time(further.saves)
    return _cost(result, further.saves) + ("" if result.options.price else " device hours")


def _cost(result: ResultData, device_seconds: float) -> str:
    """Return device hours, or their price where a device has one."""
    amount = max(device_seconds, 0.0) / 3600 * (result.options.price or 1.0)
    return f"{amount:.3g}" if amount >= 0.001 else "less than 0.001"


def _figures(result: ResultData) -> dict[str, str]:
    """Return what stands for the names in `BECAUSE`."""
    answer = result.answer
    return {
        "why": rule_text(answer.rule) if answer.rule else "",
        "several": title(answer.several) if answer.several else "",
        "sure": f"{_percent(answer.probability)} sure",
        "likely": f"{_percent(answer.distributes)} likely",
        "margin": f"{result.margin:.0%}",
        "own": f"{answer.own.global_batch:,}",
    }


def _time(seconds: float) -> str:
    """Return a length of time, from ten minutes on to the minute."""
    return roughly(seconds if seconds < 600 else 60 * round(seconds / 60))


def _percent(probability: float) -> str:
    """Return a probability in words that do not claim more than draws can tell."""
    return f"{min(max(probability, 0.01), 0.99):.0%}"
