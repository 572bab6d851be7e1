"""The profile in words: where the time of a step goes, what limits it, and what would help."""

from collections.abc import Iterator, Sequence

from autotune.axis import Remedy
from autotune.checks.breakdown import LIMITS, UNEXPLAINED, Breakdown, Callbacks, Part
from autotune.checks.remedies import Advice, Obstacle, Tried, read_by_one, read_whole
from autotune.checks.scaling import BEYOND, BreakEven, Diagnosis, Predicted, Straggler
from autotune.config import axis_of
from autotune.reason.sentences import DECLARED_REMEDIES, OBSTACLES, REMEDIES
from autotune.stats.intervals import Interval
from autotune.strategies import strategy, title
from autotune.text import sentence
from autotune.workload import WorkloadFacts

LEAST_SHOWN = 0.02
"""A smaller share is left out of the sentence."""
WIDEST = 1.0
"""Of a part whose interval is wider than the step, nothing is known."""
SEQUENTIAL = 0.6
"""From this share on a step hardly falls with a smaller batch."""
MEGABIT = 125_000
"""Bytes a second."""


def profile(found: Diagnosis, facts: WorkloadFacts) -> Iterator[str]:
    """Yield what a profile shows: of each step in turn, and where distribution would pay."""
    for step in filter(None, (found.one_device, found.distributed)):
        if text := where_it_goes(step):
            yield " ".join([text, *limits(step, facts)])
    if found.straggler:
        yield waiting(found.straggler)
    if found.break_even:
        yield from where_it_pays(found.break_even, waits=waits_for_input(found.distributed))
    if found.predicted:
        yield on_more_hosts(found.predicted)


def where_it_goes(found: Breakdown) -> str | None:
    shown = [each for each in found.shares if each.share.value >= LEAST_SHOWN]
    if not shown:
        return None
    name = title(found.configuration) if found.configuration.distributed else "one device"
    shown = [each for each in shown if each.share.high - each.share.low <= WIDEST]
    if not shown:
        return f"A step of {name} could not be taken apart: its runs differ too much."
    parts = ", ".join(f"{each.part} {_figure(found, each.share)}" for each in shown)
    if (left := found.unexplained) and left.value >= LEAST_SHOWN:
        parts += f"; {UNEXPLAINED} {_figure(found, left)}"
    return f"A step of {name} takes {_ms(found.milliseconds)}: {parts}."


def limits(found: Breakdown, facts: WorkloadFacts) -> Iterator[str]:
    """Yield a sentence for each thing that limits a step, with what helps against it."""
    yield from _of_input(found, facts)
    if found.is_limit(Part.CALLBACKS):
        yield _callback_limit(found)
    if found.is_limit(Part.CALL):
        yield (
            f"Calling the step function takes {_ms(found.spent(Part.CALL))} whatever the batch: "
            "more steps per call (steps_per_execution), a larger batch or a larger model would "
            "use the device better."
        )
    if found.is_limit(Part.EXCHANGE):
        yield _exchange(found, facts)
    yield from _of_servers(found)
    if found.is_limit(Part.SHARING):
        yield (
            "The replicas slow each other down: they share the cores and memory of one machine, "
            "which a single device already uses well."
        )
    if found.fixed is not None and found.fixed.low >= SEQUENTIAL and not waits_for_input(found):
        yield _sequential(found, found.fixed)


def where_it_pays(found: BreakEven, *, waits: bool = False) -> Iterator[str]:
    """Yield where distribution would begin to pay.

    The break-even is of steps that wait for no input; `waits` tells whether the real ones do.
    """
    name = title(found.configuration) + (" with faster input" if waits else "")
    if found.batch is None:
        yield (
            f"No break-even for {name} up to a per-replica batch of {found.farthest}: one device "
            "processes the same examples in less time."
        )
    else:
        least = threshold(found.batch, form=".0f")
        yield f"Break-even for {name}: it pays from a per-replica batch of about {least}."
    if found.bandwidth is not None:
        least = threshold(found.bandwidth, MEGABIT, unit=" Mbit/s")
        yield (
            f"Across machines like this one, with one worker each, {name} would pay with a network "
            f"of at least about {least}."
        )


def threshold(figure: Interval, each: float = 1.0, form: str = ".3g", unit: str = "") -> str:
    """Return a figure from which something pays, in a unit, with its interval."""
    low, value, high = (format(x / each, form) for _, x in figure)
    return f"{value}{unit} ({low} to {high if figure.high < BEYOND else 'far more'})"


def on_more_hosts(predicted: Sequence[Predicted]) -> str:
    """Return what more hosts would bring, which nobody has measured."""
    each = ", ".join(f"{_times(found.speedup)} on {found.hosts} hosts" for found in predicted)
    return (
        "Predicted, not measured, with a worker on each host and the same per-replica batch, "
        f"against one device's examples per second: {each}."
    )


def waits_for_input(found: Breakdown | None) -> bool:
    return found is not None and found.is_limit(Part.INPUT)


def callbacks_in_words(callbacks: Callbacks, milliseconds: float) -> str:
    """Return what callbacks take of a step: `callback Watch: 6.2 of 7.6 ms`."""
    shown = [(n, 1000 * s) for n, s in callbacks if 1000 * s >= LEAST_SHOWN * milliseconds]
    return ", ".join(f"callback {name}: {ms:.3g} of {milliseconds:.3g} ms" for name, ms in shown)


def _callback_limit(found: Breakdown) -> str:
    shown = sentence(callbacks_in_words(found.callbacks, found.milliseconds))
    return (
        f"{shown} Keras calls what a callback does after a batch once for each call of the step "
        "function: less work in it, more steps per call (steps_per_execution) or a larger batch "
        "help, and more replicas do not."
    )


def _figure(found: Breakdown, share: Interval) -> str:
    return f"{_ms(share.value * found.milliseconds)}, {_percent(share)}"


def _exchange(found: Breakdown, facts: WorkloadFacts) -> str:
    exchange, computing = found.spent(Part.EXCHANGE), found.spent(Part.COMPUTE)
    beside = f"; computing them takes {_ms(computing)}" if computing else ""
    more = ""
    if 0 < (found.configuration.replicas - 1) * computing < exchange:
        more = ", so it costs more than the other replicas save"
    return (
        f"Exchanging the gradients{_size(facts)} adds {_ms(exchange)} to each step{beside}{more}: "
        "a larger per-replica batch would exchange them less often."
    )


def _size(facts: WorkloadFacts) -> str:
    dense = facts.dense_gradient_bytes / 1e6
    if facts.dense_gradient_bytes < facts.gradient_bytes:
        return f" ({dense:.3g} MB of dense ones per replica, and sparse ones)"
    return f" ({dense:.3g} MB per replica)" if dense else ""


def waiting(found: Straggler) -> str:
    each = ", ".join(f"{seconds * 1000:.3g}" for seconds in found.seconds)
    host, others = f" on {found.host}" if found.host else "", len(found.seconds) - 1
    whose = "the other worker alone" if others == 1 else f"the {others} others"
    return (
        f"Worker {found.worker}{host} is a straggler: by itself its step takes {found.factor:.1f} "
        f"times as long as the others' ({each} ms by worker), and they wait for it. Predicted, not "
        f"measured: without it {whose} would process {_times(found.without)} as many examples "
        "per second."
    )


def _sequential(found: Breakdown, fixed: Interval) -> str:
    # Where it is not known what a call takes by itself, that may be the cause as well.
    call = found.share(Part.CALL)
    model = call and call < LIMITS
    chain = (
        "the model is a sequence of small operations" if model else "most of a step is fixed cost"
    )
    half = Interval(**{end: (1 + each) / 2 for end, each in fixed})
    return (
        f"Half the batch would take {_percent(half)} of the time: {chain}, so more replicas gain "
        "little until the batch grows."
    )


def _times(factor: Interval) -> str:
    return f"{factor.value:.2g} times ({factor.low:.2g} to {factor.high:.2g})"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds:,.0f} ms"


def _percent(share: Interval) -> str:
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def _of_servers(found: Breakdown) -> Iterator[str]:
    left, served = found.unexplained, strategy(found.configuration.strategy).asynchronous
    if served and left is not None and left.value >= LIMITS and left.low > 0:
        yield (
            "What the parameter servers take cannot be distinguished from what the workers take "
            "from each other: without servers they would train nothing."
        )


def _of_input(found: Breakdown, facts: WorkloadFacts) -> Iterator[str]:
    if found.remedied:
        yield sentence(_measured(found.remedied))
    if waits_for_input(found):
        yield _input_limit(found, facts)
        if found.advice:
            yield f"Most promising: {_help(found.advice, facts)}."


def _input_limit(found: Breakdown, facts: WorkloadFacts) -> str:
    configuration, workers = found.configuration, found.configuration.workers
    each = found.milliseconds / read_by_one(configuration, facts)
    limit = f"It is input-bound, at about {each:.2g} ms per example."
    if not read_whole(configuration, facts):
        return limit
    instead = f"{_at_the_source(facts)}, or split the input into at least {workers} files"
    if facts.file_shards >= workers:
        instead = "with shard policy file each reads its own files"
    return (
        f"{limit} With shard policy {configuration.shard_policy} each of the {workers} workers "
        "runs the whole input pipeline and discards all but its share of the examples, so more "
        f"workers do not make it faster; {instead}."
    )


def _help(advice: Advice, facts: WorkloadFacts) -> str:
    if advice.tried:
        return _measured(advice.tried)
    why = advice.why_not
    if why is Obstacle.UNDECLARED:
        return DECLARED_REMEDIES[advice.remedy]
    if why is Obstacle.ONE_AT_A_TIME:
        return OBSTACLES[why]
    how = _at_the_source(facts) if advice.remedy is Remedy.SOURCE else REMEDIES[advice.remedy]
    return f"{how} ({OBSTACLES[why]})" if why else how


def _measured(tried: Tried) -> str:
    changed = [axis_of(name).in_short(name, value) or name for name, value in tried.changed]
    return (
        f"{', '.join(changed)}: {tried.factor:.2g} times the examples per second (trial "
        f"{tried.trial} against {tried.against})"
    )


def _at_the_source(facts: WorkloadFacts) -> str:
    if "input_context" in facts.dataset_takes:
        return "let each worker read only its shard (shard policy source)"
    return DECLARED_REMEDIES[Remedy.SOURCE]
