"""The body of `make_dataset()`: from single examples to endless batches."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.axis import Place
from autotune.config import Configuration, axes
from autotune.owner import Owner
from autotune.script.frozen import Frozen
from autotune.script.text import call, literal
from autotune.strategies import Training
from autotune.value import Scalar, Value
from autotune.workload import Factory, WorkloadFacts

_SHARDING = {
    "auto": "tf.data shards the examples between the workers, by file where it can.",
    "data": "Every worker runs this whole pipeline, and tf.data keeps its shard of the examples.",
    "file": "tf.data shards the files between the workers, so each reads only its own.",
    "off": "Every worker reads all examples.",
}

_WHOLE = {
    False: "because a batch of another size would be retraced",
    True: "so that all replicas have equal batches",
}

_DIVIDED = {False: "and tf.data shards them", True: "of which this worker keeps its shard"}


class Pipeline(Value):
    """What the template of the dataset needs to know."""

    parameter: str
    """The parameter of `make_dataset()` with its type, or nothing."""
    summary: str
    """First line of its docstring."""
    lines: tuple[str, ...]
    """Its body, without the indentation."""


def pipeline(
    configuration: Configuration,
    dataset: Factory,
    facts: WorkloadFacts,
    training: Training,
    *,
    held: bool = False,
    frozen: Frozen | None = None,
) -> Pipeline:
    """Return how the program makes batches of the factory's examples.

    Args:
        configuration: Its settings of the input.
        dataset: The factory.
        facts: What is known of it.
        training: How the program trains.
        held: Whether every step gets the first batch again, from memory.
        frozen: What stands in the configuration in place of AUTOTUNE, if anything does.
    """
    apart = training == "coordinator"
    return Pipeline(
        parameter=_parameter(configuration, apart=apart),
        summary=_summary(configuration, apart=apart),
        lines=(
            *_context(configuration, dataset, facts, apart=apart),
            *(frozen.comment(Owner.NUM_PARALLEL_CALLS) if frozen else ()),
            _first(configuration, dataset, facts, apart=apart),
            *(frozen.comment_on_the_rest() if frozen else ()),
            *axis_lines(configuration, Place.EXAMPLES),
            *_share(configuration, apart=apart),
            *_options(configuration, apart=apart),
            *_batches(configuration, facts, apart=apart, held=held),
            *_prefetch(configuration, frozen),
        ),
    )


def at_source(configuration: Configuration) -> bool:
    """Whether each worker has a pipeline of its own that reads only its share."""
    return configuration.workers > 1 and configuration.shard_policy == "source"


def axis_lines(configuration: Configuration, place: Place) -> list[str]:
    """Return the lines that a place holds for the axes that are away from their defaults."""
    changed, found = configuration.changed(), []
    for name, line in ((name, axis.line) for name, axis in axes().items() if name in changed):
        if line is not None and line.place is place:
            found += [f"# {line.comment}"] * bool(line.comment)
            found.append(line.code.replace("{value}", literal(changed[name])))
    return found


# Below, `apart` says that each worker takes steps of its own, on batches for one replica.


def _parameter(configuration: Configuration, *, apart: bool) -> str:
    if configuration.workers == 1:
        return ""
    if at_source(configuration):
        return "input_context: tf.distribute.InputContext"
    return "worker: int, workers: int" if apart else "global_batch: int"


def _summary(configuration: Configuration, *, apart: bool) -> str:
    if not configuration.distributed:
        return "Return an infinite dataset of batches."
    if at_source(configuration) or apart:
        return "Return an infinite dataset of per-replica batches from this worker's shard."
    return "Return an infinite dataset of global batches."


def _batch(configuration: Configuration, *, apart: bool) -> str:
    if not configuration.distributed or at_source(configuration) or apart:
        return "PER_REPLICA_BATCH"
    return "global_batch" if configuration.workers > 1 else "GLOBAL_BATCH"


def _context(
    configuration: Configuration, dataset: Factory, facts: WorkloadFacts, *, apart: bool
) -> Iterator[str]:
    """Give a lone pipeline a context that says so, if the factory wants one."""
    fixed = {name for name, _ in dataset.arguments}
    if "input_context" not in {*facts.dataset_takes} - fixed or at_source(configuration):
        return
    replicas = "REPLICAS" if configuration.distributed else "1"
    if configuration.workers > 1:
        replicas = "workers" if apart else "global_batch // PER_REPLICA_BATCH"
        yield f"# As for a single pipeline: it reads all examples, {_DIVIDED[apart]}."
    yield "input_context = tf.distribute.InputContext("
    yield f"    num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync={replicas}"
    yield ")"


def _first(
    configuration: Configuration, dataset: Factory, facts: WorkloadFacts, *, apart: bool
) -> str:
    offered = {
        "input_context": "input_context",
        "batch_size": _batch(configuration, apart=apart),
        **{
            axis.needs_parameter: _automatic(configuration[name])
            for name, axis in axes().items()
            if axis.needs_parameter
        },
    }
    values = {name: text for name, text in offered.items() if name in facts.dataset_takes}
    values |= {name: literal(value) for name, value in dataset.arguments}
    own = configuration.own_values()
    values |= {name: literal(own[name]) for name in own if name in facts.dataset_takes}
    return call("dataset_fn", values.items(), before="dataset = ", indent=4)


def _share(configuration: Configuration, *, apart: bool) -> Iterator[str]:
    if apart and not at_source(configuration):
        yield "# Every worker runs this whole pipeline and keeps its shard of the examples."
        yield "dataset = dataset.shard(workers, worker)"


def _options(configuration: Configuration, *, apart: bool) -> Iterator[str]:
    gang = configuration.workers > 1 and not at_source(configuration) and not apart
    of_axes = axis_lines(configuration, Place.OPTIONS)
    if not gang and not of_axes:
        return
    yield "options = tf.data.Options()"
    if gang:
        policy = configuration.shard_policy
        yield f"# {_SHARDING[policy]}"
        kind = f"tf.data.experimental.AutoShardPolicy.{policy.upper()}"
        yield f"options.experimental_distribute.auto_shard_policy = {kind}"
    yield from of_axes
    yield "dataset = dataset.with_options(options)"


def _batches(
    configuration: Configuration, facts: WorkloadFacts, *, apart: bool, held: bool
) -> Iterator[str]:
    steps = ["dataset", "repeat()"]
    if configuration.cache == "memory":
        steps.insert(1, "cache()")
    if "batch_size" not in facts.dataset_takes:
        yield f"# Without the remainder, {_WHOLE[configuration.distributed and not apart]}."
        steps.append(f"batch({_batch(configuration, apart=apart)}, drop_remainder=True)")
    if held:
        yield "# The same batch in every step: this times the step without its input."
        steps += ["take(1)", "cache()", "repeat()"]
    chain = ".".join(steps)
    yield f"dataset = {chain}" if configuration.prefetch else f"return {chain}"


def _prefetch(configuration: Configuration, frozen: Frozen | None) -> Iterator[str]:
    if configuration.prefetch:
        yield from frozen.comment(Owner.PREFETCH) if frozen else ()
        yield f"return dataset.prefetch({_automatic(configuration.prefetch)})"


def _automatic(value: Scalar) -> str:
    return "tf.data.AUTOTUNE" if value == "auto" else literal(value)
