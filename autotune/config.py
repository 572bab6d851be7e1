"""The configuration: one point of the search space, and the one declaration of every axis.

An axis is a field of `Configuration`: its type is what a value may be, its default is what Keras
or TensorFlow would do by itself, its description is its documentation, and `Axis` says when it
matters and where it lands in the script. Command line, schema, report and docs read it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from autotune.value import Scalar, Value

Auto = Literal["auto"]
ShardPolicy = Literal["auto", "data", "file", "off", "source"]
Reduction = Literal["default", "one_device", "hierarchical", "nccl", "ring"]
Precision = Literal["float32", "mixed_bfloat16", "mixed_float16"]
CountOrAuto = Annotated[int, Field(ge=0)] | Auto


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What the search and the documentation need to know about a field beyond its type.

    Attributes:
        lands_in: Where the value appears in the generated program.
        matters: Whether the axis has an effect in a configuration; where it has none it is set
            to its default, so that configurations equal in effect are one.
        needs_parameter: The axis matters only if the dataset factory declares this parameter.
        changes_numbers: The trained weights depend on it beyond rounding, so a ready-made space
            holds only its default and the user must ask for more.
    """

    lands_in: str
    matters: Callable[[Configuration], bool] = lambda _: True
    needs_parameter: str | None = None
    changes_numbers: bool = False


class Configuration(Value):
    """How a training is distributed and fed. Counts are whole numbers, sizes are in examples."""

    strategy: Annotated[
        str,
        Field(description="The tf.distribute strategy."),
        Axis(lands_in="make_strategy"),
    ] = "one_device"
    workers: Annotated[
        int,
        Field(ge=1, description="Number of worker processes, each with its own input pipeline."),
        Axis(lands_in="launch.py"),
    ] = 1
    replicas_per_worker: Annotated[
        int,
        Field(ge=1, description="Replicas of the model in one process, one per device."),
        Axis(lands_in="make_strategy"),
    ] = 1
    servers: Annotated[
        int,
        Field(ge=0, description="Number of parameter servers, which hold the variables."),
        Axis(lands_in="launch.py"),
    ] = 0
    per_replica_batch: Annotated[
        int,
        Field(ge=1, description="Batch size of each replica."),
        Axis(lands_in="PER_REPLICA_BATCH"),
    ] = 32
    shard_policy: Annotated[
        ShardPolicy,
        Field(
            description="How examples are sharded between workers: by tf.data auto-sharding "
            "(auto, data, file, off), or by the dataset factory itself (source)."
        ),
        Axis(lands_in="make_dataset", matters=lambda c: c.workers > 1),
    ] = "auto"
    reduction: Annotated[
        Reduction,
        Field(description="All-reduce algorithm for the gradients."),
        Axis(lands_in="make_strategy", matters=lambda c: c.replicas > 1),
    ] = "default"
    steps_per_execution: Annotated[
        int,
        Field(
            ge=1,
            description="Training steps per call of the compiled function, as in Model.compile.",
        ),
        Axis(lands_in="STEPS_PER_EXECUTION"),
    ] = 1
    prefetch: Annotated[
        CountOrAuto,
        Field(description="Batches that tf.data prefetches; auto is tf.data.AUTOTUNE."),
        Axis(lands_in="make_dataset"),
    ] = "auto"
    num_parallel_calls: Annotated[
        Annotated[int, Field(ge=1)] | Auto,
        Field(
            description="Value of num_parallel_calls in the dataset factory's map and interleave."
        ),
        Axis(lands_in="make_dataset", needs_parameter="num_parallel_calls"),
    ] = "auto"
    private_threads: Annotated[
        int,
        Field(
            ge=0,
            description="Size of tf.data's private thread pool; 0 uses TensorFlow's shared pool.",
        ),
        Axis(lands_in="make_dataset"),
    ] = 0
    cache: Annotated[
        Literal["off", "memory"],
        Field(description="Whether examples are cached in memory after the first epoch."),
        Axis(lands_in="make_dataset"),
    ] = "off"
    threads_per_process: Annotated[
        int,
        Field(ge=0, description="Intra-op threads of each process; 0 uses all cores."),
        Axis(lands_in="main"),
    ] = 0
    xla: Annotated[
        bool,
        Field(description="Whether the training step is compiled with XLA (jit_compile)."),
        Axis(lands_in="main"),
    ] = False
    precision: Annotated[
        Precision,
        Field(description="The Keras dtype policy; any other than float32 changes the results."),
        Axis(lands_in="main", changes_numbers=True),
    ] = "float32"
    arguments: Annotated[
        tuple[tuple[str, Scalar], ...],
        Field(description="Values of user-defined axes, passed to the factory that declares them."),
    ] = ()

    @property
    def replicas(self) -> int:
        """Copies of the model that train together, over all workers."""
        return self.workers * self.replicas_per_worker

    @property
    def processes(self) -> int:
        """Processes of the training. Where some only hold variables, one more gives the orders."""
        return self.workers + self.servers + (1 if self.servers else 0)

    @property
    def global_batch(self) -> int:
        """Examples that all replicas together take in one step."""
        return self.per_replica_batch * self.replicas

    @property
    def distributed(self) -> bool:
        """Whether more than one replica trains."""
        return self.replicas > 1

    def but(self, **changes: object) -> Configuration:
        """Return a validated copy with some fields changed."""
        return Configuration.model_validate({**self.model_dump(), **changes})


@cache
def axes() -> Mapping[str, Axis]:
    """Return the declaration of every axis, by name, in the order of the fields."""
    found = {}
    for name, field in Configuration.model_fields.items():
        for mark in field.metadata:
            if isinstance(mark, Axis):
                found[name] = mark
    return MappingProxyType(found)


def describe(name: str) -> str:
    """Return the one sentence that documents an axis."""
    return Configuration.model_fields[name].description or ""


def default_of(name: str) -> Scalar:
    """Return what Keras or TensorFlow does when nobody sets this axis."""
    value: Scalar = Configuration.model_fields[name].default
    return value


def accepts(name: str, value: Scalar) -> str | None:
    """Return why an axis cannot hold a value, or None if it can.

    Strict: `true` is no batch of one, and "8" is no number.
    """
    try:
        _adapter(name).validate_python(value, strict=True)
    except ValidationError as exc:
        return exc.errors()[0]["msg"]
    return None


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(Configuration, include_extras=True)[name])
