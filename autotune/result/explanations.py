"""Why a result is what it is: a sentence or a few on each topic, the most important first."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from statistics import fmean, linear_regression

from autotune.checks.breakdown import LIMITS
from autotune.config import axes
from autotune.engine.load import SHARE, remark
from autotune.face import for_face
from autotune.objective import COST, EPOCH, Scorer, devices, objective_named
from autotune.program import epoch_in_words
from autotune.reason import Outcome
from autotune.result.batches import batch_lines
from autotune.result.profile import callbacks_in_words, profile
from autotune.result.stored import ResultData
from autotune.stats.intervals import EXPECTED, Interval
from autotune.strategies import strategy, title
from autotune.text import plural, roughly, size
from autotune.trial import Trial

FAILURES = {*Outcome} - {Outcome.MEASURED, Outcome.PRUNED, Outcome.SKIPPED, Outcome.UNFINISHED}
LEAST_GROWTH = 0.1
"""Share of the peak that the batches have to explain: a smaller one says nothing of larger ones."""
Explain = Callable[[ResultData], Iterator[str]]


def explanations(result: ResultData, *, checks: bool = True) -> Iterator[str]:
    """Yield why a result is what it is, the most important first; without checks where told so."""
    for explain in _IN_ORDER:
        if checks or explain is not _certificate:
            yield from map(for_face, explain(result))


def _current(result: ResultData) -> list[Trial]:
    """Return the trials of each configuration from its last measured one on."""
    last = {t.configuration: t.number for t in result.trials if t.measured}
    return [t for t in result.trials if t.number >= last.get(t.configuration, 0)]


def _eager(result: ResultData) -> Iterator[str]:
    """Yield what compiling a model gains that runs eagerly by the user's own request."""
    facts, own = result.facts, result.answer.own
    if not facts.eager:
        return
    at = f" (line {facts.fit.eager})" if facts.fit and facts.fit.eager else ""
    if facts.uncompilable:
        yield (
            f"Your model runs eagerly{at} and cannot be compiled ({facts.uncompilable}): once it "
            "can, its steps are usually several times as fast, and it can be distributed."
        )
        return
    eager, compiled = (
        [t.examples_per_second or 0.0 for t in _current(result) if t.configuration == c]
        for c in (own, own.taking({"run_eagerly": False}))
    )
    text = f"Your model runs eagerly{at}; what compiling it gains was not measured."
    if own.run_eagerly and any(eager) and any(compiled):
        gain = fmean(filter(None, compiled)) / fmean(filter(None, eager))
        found = f"takes 1/{gain:.0f} of the time" if gain >= 2 else f"is {gain:.2g} times as fast"
        text = f"Your model runs eagerly{at}: compiled, it {found}."
    if not result.config.run_eagerly:
        text += (
            " The recommended program compiles it; Python code in train_step or call then runs "
            "only while it is traced."
        )
    yield text


def _objective(result: ResultData) -> Iterator[str]:
    """Yield the value of the objective, unless it is the throughput, which is shown anyway."""
    found, objective = result.answer.value, objective_named(result.objective)
    if found and not objective.shown_anyway:
        value, low, high = map(objective.short, (found.value, found.low, found.high))
        yield (
            f"The {objective.title} of the recommended configuration is {value} ({low} to {high})."
        )


def _asynchronous(result: ResultData) -> Iterator[str]:
    """Yield what training asynchronously means, where that is recommended."""
    used = strategy(result.config.strategy)
    if used.asynchronous:
        yield (
            f"{used.title} trains asynchronously: workers do not wait for each other, so gradients "
            "may be stale. Compare the trained model with single-device training before relying on "
            "it."
        )


def _callbacks(result: ResultData) -> Iterator[str]:
    """Yield what callbacks take of a step with the user's own settings, and how often they come."""
    own = result.answer.own
    mine = [t for t in _current(result) if t.configuration == own and t.examples_per_second]
    for trial in mine[-1:]:
        milliseconds = 1000 * own.global_batch / (trial.examples_per_second or 1)
        if sum(each for _, each in trial.callback_seconds) * 1000 >= LIMITS * milliseconds:
            callbacks = callbacks_in_words(trial.callback_seconds, milliseconds)
            yield f"Callbacks limit a step with your own settings: {callbacks}."
    steps, called = result.config.steps_per_execution, result.facts.batch_callbacks
    if called and steps > own.steps_per_execution:
        yield (
            f"In the recommended program Keras calls {', '.join(called)} once in {steps} batches, "
            "because a call of the step function takes so many."
        )


def _program(result: ResultData) -> Iterator[str]:
    """Yield what an epoch of the program is, and what is known of the patch of a script."""
    if text := epoch_in_words(result.config, result.facts):
        yield f"The program makes {text}."
    if result.why_no_patch:
        yield f"There is no train.patch. {result.why_no_patch}"
    elif result.patch:
        yield f"Your script with train.patch: {' '.join(result.patch_notes)}"


def _certificate(result: ResultData) -> Iterator[str]:
    if found := result.certificate:
        yield from (found.line, *found.undecided)


def _profile(result: ResultData) -> Iterator[str]:
    if result.diagnosis:
        yield from profile(result.diagnosis, result.facts)
    elif result.options.profile and not result.interrupted:
        yield "No time was left to find out where the time of a step goes."


def _peak_memory(result: ResultData) -> Iterator[str]:
    """Yield the peak of the recommendation, and the batch that the memory would hold."""
    peaks, whole = _peaks(result), result.machine.memory
    used = peaks.get(result.config.per_replica_batch)
    # What a GPU holds is none of its process's resident memory.
    if not used or result.machine.gpus:
        return
    yield f"The processes held {size(used)} at their peak, {used / whole:.0%} of the memory."
    if most := largest_batch(peaks, SHARE * whole):
        yield (
            f"By the peaks at batches of {min(peaks):,} to {max(peaks):,}, a batch of about "
            f"{most:,} for each replica would take {SHARE:.0%} of the memory."
        )


def _peaks(result: ResultData) -> Mapping[int, float]:
    """Return the largest peak by batch, of those that are like the recommended one otherwise."""
    found: dict[int, float] = defaultdict(float)
    mine = result.config.values()
    alike = [name for name, axis in axes().items() if axis.alike]
    for trial in result.trials:
        theirs = trial.configuration.values()
        if trial.measured and all(theirs.get(name) == mine.get(name) for name in alike):
            batch = trial.configuration.per_replica_batch
            found[batch] = max(found[batch], trial.peak_memory)
    return found


def largest_batch(peaks: Mapping[int, float], limit: float) -> int | None:
    """Return the batch whose peak would reach a limit, by a line through the peaks in bytes.

    None where there are too few batches, or they hardly differ in their peaks.
    """
    if len(peaks) < 2:
        return None
    slope, start = linear_regression([*peaks], [*peaks.values()])
    if slope * (max(peaks) - min(peaks)) < LEAST_GROWTH * max(peaks.values()):
        return None
    return int((limit - start) / slope)


def _noise(result: ResultData) -> Iterator[str]:
    found = result.answer
    by = plural(found.repeats, "repeat") if found.repeats else "no repeat"
    yield (
        f"Run-to-run variation is {found.noise:.0%} (standard deviation, from {by} and a prior of "
        f"{EXPECTED.sd:.0%})."
    )
    if text := remark(found.load):
        yield text


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
    """Yield that examples vary in length, of which a short run sees only a part."""
    if result.facts.lengths_vary:
        yield (
            "Examples have no fixed length: the rate is that of the examples that the runs saw, so "
            "shuffle data that is sorted by length."
        )


def between_lines(result: ResultData) -> Iterator[str]:
    """Yield what validation and checkpoints take after an epoch, which no trial has."""
    seconds, examples = result.between, result.facts.examples
    if not seconds or not examples or result.examples_per_second is None:
        return
    epoch = examples / result.examples_per_second.value
    yield (
        f"After each epoch of {result.facts.bound}{epoch:.3g} s, which is what was tuned, "
        f"validation and checkpoints take {seconds:.2g} s: "
        f"{seconds / (epoch + seconds):.0%} of the time."
    )


_IN_ORDER: tuple[Explain, ...] = (
    *(target_lines, _eager, _objective, cost_lines, _asynchronous, _callbacks, batch_lines),
    *(_program, _certificate, lengths_lines, _profile, between_lines),
    *(_peak_memory, _noise),
)
