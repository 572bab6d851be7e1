"""The configuration: one point of the search space, and the one declaration of every axis.

An axis is a field of `Configuration`: its type is what a value may be, its default is what Keras
or TensorFlow would do by itself, its description is its documentation, and `Axis` says what else is
known of it. Command line, schema, report and docs read it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from autotune.axis import (
    OWN_AXIS,
    Axis,
    AxisRole,
    InputRemedy,
    Line,
    Place,
    Remedy,
    Trend,
    always,
)
from autotune.base import Described, Scalar
from autotune.text import one_line

Auto = Literal["auto"]
ShardPolicy = Literal["auto", "data", "file", "off", "source"]
Reduction = Literal["default", "one_device", "hierarchical", "nccl", "ring"]
Precision = Literal["float32", "mixed_bfloat16", "mixed_float16"]
Cache = Literal["off", "memory", "file"]
Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
_placement = partial(Axis, role=AxisRole.PLACEMENT, matters=always, alike=True)
_step = partial(Axis, role=AxisRole.STEP)
_input = partial(Axis, role=AxisRole.INPUT)
"""How examples are read leaves the exchange of gradients as it is."""


class Configuration(Described):
    """How a training is distributed and fed. Counts are whole numbers, sizes are in examples."""

    strategy: Annotated[str, _placement(in_patch=True, effect=(0.03, 0.5), short="")] = "one_device"
    """The tf.distribute strategy."""
    workers: Annotated[
        Positive,
        _placement(
            gain=-0.4,
            effect=(0.03, 0.5),
            short="",
            remedy=InputRemedy(kind=Remedy.WORKERS, without=(1,), beside=(AxisRole.PLACEMENT,)),
        ),
    ] = 1
    """Number of worker processes, each with its own input pipeline."""
    replicas_per_worker: Annotated[
        Positive, _placement(in_patch=True, gain=-0.1, effect=(0.03, 0.5), short="")
    ] = 1
    """Replicas of the model in one process, one per device."""
    servers: Annotated[Natural, _placement()] = 0
    """Number of parameter servers, which hold the variables."""
    per_replica_batch: Annotated[
        Positive,
        _step(
            in_patch=True,
            short="",
            memory=Trend.GROWS,
            gain=0.2,
            effect=(0.15, 1.1),
            speed_only=True,
        ),
    ] = 32
    """Batch size of each replica."""
    reduction: Annotated[
        Reduction,
        Axis(in_patch=True, effect=(0.02, 0.7), role=AxisRole.PLACEMENT, short="reduction {value}"),
    ] = "default"
    """All-reduce algorithm for the gradients."""
    shard_policy: Annotated[
        ShardPolicy,
        Axis(
            role=AxisRole.PLACEMENT,
            short="shard {value}",
            memory=Trend.NONE,
            matters=lambda c: c.workers > 1,
            remedy=InputRemedy(
                kind=Remedy.SOURCE,
                without=("auto", "data", "file", "off"),
                parameter="input_context",
            ),
        ),
    ] = "auto"
    """How examples are sharded between workers: by tf.data auto-sharding (auto, data, file, off),
    or by the dataset factory itself (source)."""
    steps_per_execution: Annotated[
        Positive,
        _step(
            in_patch=True,
            short="{value} steps/call",
            memory=Trend.NONE,
            gain=0.04,
            effect=(0.06, 1.2),
            speed_only=True,
        ),
    ] = 1
    """Training steps per call of the compiled function, as in Model.compile."""
    prefetch: Annotated[
        Natural | Auto,
        _input(in_patch=True, effect=(0.02, 1.0), memory=Trend.GROWS, speed_only=True),
    ] = "auto"
    """Batches that tf.data prefetches; auto is tf.data.AUTOTUNE."""
    num_parallel_calls: Annotated[
        Positive | Auto,
        _input(
            effect=(0.14, 1.1),
            short="{value} parallel call{s}",
            memory=Trend.GROWS,
            speed_only=True,
            needs_parameter="num_parallel_calls",
            remedy=InputRemedy(
                kind=Remedy.PARALLEL_CALLS,
                without=("auto", 1),
                beside=("private_threadpool_size",),
                parameter="num_parallel_calls",
            ),
        ),
    ] = "auto"
    """Value of num_parallel_calls in the dataset factory's map and interleave."""
    py_dataset_workers: Annotated[
        Natural,
        _input(
            effect=(0.14, 1.1),
            short="{value} dataset worker{s}",
            speed_only=True,
            where=lambda facts: facts.py_dataset,
            remedy=InputRemedy(
                kind=Remedy.DATASET_WORKERS, without=(0, 1), beside=("private_threadpool_size",)
            ),
        ),
    ] = 0
    """Workers that make the batches of a keras.utils.PyDataset, threads or processes as it says
    itself; 0 keeps its own number."""
    private_threadpool_size: Annotated[
        Natural,
        _input(
            in_patch=True,
            effect=(0.03, 1.4),
            line=Line(
                place=Place.OPTIONS,
                code="options.threading.private_threadpool_size = {value}",
                comment="A private pool, so that input and training do not compete for threads.",
            ),
            short="{value} input thread{s}",
            memory=Trend.NONE,
            speed_only=True,
        ),
    ] = 0
    """Size of tf.data's private thread pool; 0 uses TensorFlow's shared pool."""
    cache: Annotated[
        Cache,
        _input(
            alike=True,
            in_patch=True,
            effect=(0.05, 1.2),
            short="cached in {value}",
            remedy=InputRemedy(kind=Remedy.CACHE, without=("off",), beside=(AxisRole.INPUT,)),
        ),
    ] = "off"
    """Cache the dataset in memory or in a file (Dataset.cache), behind the dataset factory or where
    it applies its parameter cache."""
    intra_op_parallelism_threads: Annotated[
        Natural,
        _step(
            in_patch=True,
            line=Line(
                place=Place.START,
                code="tf.config.threading.set_intra_op_parallelism_threads({value})",
                comment="Before anything else, because TensorFlow makes its threads with the first "
                "operation.",
            ),
            short="intra-op threads {value}",
            memory=Trend.NONE,
            speed_only=True,
        ),
    ] = 0
    """Intra-op threads of each process; 0 uses all cores."""
    xla: Annotated[bool, _step(in_patch=True, effect=(0.1, 1.0), short="XLA")] = False
    """Whether the training step is compiled with XLA (jit_compile)."""
    run_eagerly: Annotated[
        bool,
        _step(
            effect=(0.5, 0.7),
            short="eager",
            memory=Trend.NONE,
            where=lambda facts: facts.eager,
        ),
    ] = False
    """Whether the training step runs eagerly (run_eagerly), uncompiled; only where yours does."""
    precision: Annotated[
        Precision,
        Axis(
            alike=True,
            effect=(0.1, 1.0),
            role=AxisRole.NUMERICS,
            line=Line(place=Place.START, code="keras.config.set_dtype_policy({value})"),
            short="{value}",
        ),
    ] = "float32"
    """The Keras dtype policy; any other than float32 changes the results."""
    arguments: tuple[tuple[str, Scalar], ...] = ()
    """Values of user-defined axes, passed to the factory that declares them."""

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

    def __getitem__(self, name: str) -> Scalar:
        """Return the value of an axis, one of the user's own too."""
        return self.__dict__[name] if name in axes() else dict(self.arguments)[name]

    def values(self) -> dict[str, Scalar]:
        """Return the value of every axis by name, the user's own last."""
        fields = {name: value for name, value in self.__dict__.items() if name != "arguments"}
        return {**fields, **dict(self.arguments)}

    def own_values(self) -> dict[str, Scalar]:
        """Return the values of the user's own axes, which have no default."""
        return {name: value for name, value in self.arguments if name not in axes()}

    def for_factories(self) -> dict[str, Scalar]:
        """Return the values that a factory gets if it has a parameter of that name."""
        values = self.values()
        passed = {axis.needs_parameter: values[name] for name, axis in axes().items()}
        named = {name: value for name, value in passed.items() if name and value != "auto"}
        return named | self.own_values()

    def changed(self) -> dict[str, Scalar]:
        """Return the values that are away from their defaults; the user's own always are."""
        usual = _defaults()
        return {n: v for n, v in self.values().items() if n not in usual or v != usual[n]}

    def but(self, **changes: object) -> Configuration:
        """Return a validated copy with some fields changed."""
        return Configuration.model_validate({**self.model_dump(), **changes})

    def taking(self, values: Mapping[str, Scalar]) -> Configuration:
        """Return a copy with other values of some axes, which were validated before."""
        fields: dict[str, object] = {n: v for n, v in values.items() if n in self.__dict__}
        others = {n: v for n, v in values.items() if n not in fields}
        if others:
            fields["arguments"] = tuple({**dict(self.arguments), **others}.items())
        return self.model_copy(update=fields)

    def canonical(self) -> Configuration:
        """Return the configuration with every axis that has no effect in it at its default."""
        usual, mine = _defaults(), self.__dict__
        idle = {
            name: usual[name]
            for name, axis in axes().items()
            if mine[name] != usual[name] and not axis.matters_in(self)
        }
        return self.taking(idle) if idle else self

    def on_one_device(self) -> Configuration:
        """Return the same settings on one device, with the batch of one replica."""
        usual = _defaults()
        return self.taking({name: usual[name] for name in axes_of(AxisRole.PLACEMENT)}).canonical()

    def with_global_batch(self, examples: int) -> Configuration:
        """Return a copy whose replicas divide so many examples between them in each step.

        Where these do not divide, it is the nearest multiple of the replicas.
        """
        return self.taking({"per_replica_batch": equal_parts(examples, self.replicas) or 1})

    def in_short(self) -> str:
        """Return batch and changed settings as a table shows them: `batch 2x64, 8 steps/call`.

        Placement comes last: where a narrow column is cut off, what differs most stays in sight.
        """

        def place(name: str) -> int:
            return 2 if name not in axes() else axis_of(name).role is AxisRole.PLACEMENT

        many = f"{self.replicas}x" if self.distributed else ""
        changed = self.changed()
        texts = [axis_of(name).in_short(name, changed[name]) for name in sorted(changed, key=place)]
        return ", ".join([f"batch {many}{self.per_replica_batch}", *filter(None, texts)])


def equal_parts(examples: int, replicas: int) -> int:
    """Return what each replica gets of the multiple of the replicas that is nearest to a batch.

    Of two the smaller one; 0 where the batch would change by half or more.
    """
    each = (2 * examples + replicas - 1) // (2 * replicas)
    return each if 2 * abs(each * replicas - examples) < examples else 0


@cache
def axes() -> Mapping[str, Axis]:
    """Return the declaration of each axis by its name: what its field is marked with."""
    fields = Configuration.model_fields.items()
    marked = [(name, mark) for name, field in fields for mark in field.metadata]
    return MappingProxyType({name: mark for name, mark in marked if isinstance(mark, Axis)})


@cache
def axes_of(role: AxisRole) -> tuple[str, ...]:
    return tuple(name for name, axis in axes().items() if axis.role is role)


def axis_of(name: str) -> Axis:
    """Return the declaration of an axis; a name that nobody declared is one of the user's own."""
    return axes().get(name, OWN_AXIS)


def describe(name: str) -> str:
    if name not in axes():
        return "User-defined axis."
    return one_line(Configuration.model_fields[name].description or "")


def default_of(name: str) -> Scalar:
    """Return what Keras or TensorFlow does when nobody sets this axis."""
    return _defaults()[name]


def type_of(name: str) -> Any:
    return get_type_hints(Configuration, include_extras=True)[name]


def schema_of(name: str) -> dict[str, Any]:
    return _adapter(name).json_schema()


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
    return TypeAdapter(type_of(name))


@cache
def _defaults() -> Mapping[str, Scalar]:
    return {name: Configuration.model_fields[name].default for name in axes()}
