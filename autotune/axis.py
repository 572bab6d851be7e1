"""What an axis says of itself: everything that is known of a setting beyond its type."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from autotune.base import Scalar


class AxisRole(StrEnum):
    """What an axis is to a training."""

    PLACEMENT = "placement"
    """Where the replicas are and how they work together; on one device it has no effect."""
    STEP = "step"
    """How a training step is made and called."""
    INPUT = "input"
    """How examples are read and prepared."""
    NUMERICS = "numerics"
    """What is computed."""


class Trend(StrEnum):
    """How a quantity moves with the value of an axis."""

    UNKNOWN = "unknown"
    """Nobody knows, so only equal values can be compared."""
    NONE = "none"
    """It does not move."""
    GROWS = "grows"
    """A larger number never makes it smaller."""
    FALLS = "falls"
    """A larger number never makes it larger."""

    def at_least(self, value: object, other: object) -> bool:
        """Return whether the quantity is certainly no smaller with a value than with another."""
        if self is Trend.NONE or (value == other and type(value) is type(other)):
            return True
        if not (isinstance(value, int | float) and isinstance(other, int | float)):
            return False
        return value >= other if self is Trend.GROWS else self is Trend.FALLS and value <= other


def always(_: object) -> bool:
    return True


class Place(StrEnum):
    """Where in the program an axis puts its line."""

    START = "main, before TensorFlow starts"
    """Nothing was made yet."""
    OPTIONS = "make_dataset, on its options"
    """`options` are the `tf.data.Options` that the dataset will get."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the program for an axis that is away from its default."""

    place: Place
    """Says too which names it may use beside `tf` and `keras`."""
    code: str
    """The statement; `{value}` is the value as Python text."""
    comment: str = ""
    """Why it is there, for the reader of the program."""


class Remedy(StrEnum):
    """What makes an input faster, in the order in which it is worth a try."""

    CACHE = "cache"
    PARALLEL_CALLS = "parallel calls"
    DATASET_WORKERS = "dataset workers"
    """Of a `keras.utils.PyDataset`, in place of these calls."""
    VECTORIZED_MAP = "vectorized map"
    """The only one without an axis."""
    SOURCE = "sharding at the source"
    WORKERS = "more workers"


@dataclass(frozen=True, kw_only=True)
class InputRemedy:
    """By which values an axis makes the input faster, and what may change with it."""

    kind: Remedy
    without: tuple[Scalar, ...]
    """The values by which it does not."""
    beside: tuple[str, ...] = ()
    """Axes, or whole roles, in which two trials may differ too that tell what it does."""
    parameter: str = ""
    """The dataset factory has to declare it; empty if nothing."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What everything beside the script needs to know about a field beyond its type.

    What is left out is taken for unknown, so that nothing is skipped by a wrong bound.

    Attributes:
        role: What the axis is to the training; groups of axes are made by it.
        line: What the program says of the value, where a template does not.
        short: The wording in tables and programs, with `{name}`, `{value}` and a plural's `{s}`;
            empty where the head of the text says it (`Mirrored x2, batch 2x64`).
        memory: How the memory that a training needs moves with the value.
        gain: What a doubling is expected to add to log(throughput), before anything ran; of a
            placement where its replicas share the cores of a machine.
        effect: Size of what the axis does to log(throughput): its median, and the standard
            deviation of its logarithm.
        speed_only: It changes how fast a training is, and not what is computed from which examples.
        matters: Whether the axis has an effect in a configuration; where it has none it is set
            to its default, so that configurations equal in effect are one. None: everywhere, but
            for a placement only where there is more than one replica.
        where: With which workloads the axis has an effect, by their facts. None: with any.
        needs_parameter: The axis matters only if the dataset factory declares this parameter, and
            is passed to it; `auto` as tf.data.AUTOTUNE.
        alike: Configurations must agree in it for their memory to differ by the batch alone.
        in_patch: A change of the user's own script can write it; one without needs the wrapper.
        remedy: What it does for a step that waits for its input.
    """

    role: AxisRole
    line: Line | None = None
    short: str = "{name} {value}"
    memory: Trend = Trend.UNKNOWN
    gain: float = 0.0
    effect: tuple[float, float] = (0.03, 1.3)
    speed_only: bool = False
    matters: Callable[[Any], bool] | None = None
    where: Callable[[Any], bool] | None = None
    needs_parameter: str | None = None
    alike: bool = False
    in_patch: bool = False
    remedy: InputRemedy | None = None

    def matters_in(self, configuration: Any) -> bool:
        """Return whether the axis has an effect in a configuration."""
        if self.matters is not None:
            return self.matters(configuration)
        return self.role is not AxisRole.PLACEMENT or bool(configuration.distributed)

    def in_short(self, name: str, value: Scalar) -> str:
        """Return a value as a table shows it: `8 steps/call`."""
        return self.short.format(name=name, value=value, s="" if value == 1 else "s")


OWN_AXIS = Axis(role=AxisRole.NUMERICS, short="{name}={value}")
"""An axis of the user's own: a parameter of a factory, of which nothing else is known."""
