"""What is known of a workload: its model, its data, a script's call of `fit`, and its length."""

from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import ConfigDict

from autotune.base import Value
from autotune.config import Configuration
from autotune.learning import Learning
from autotune.shared_values import Change, Count
from autotune.text import plural


class InputPass(Value):
    """A pass over the input alone, from its beginning as far as the time let it come."""

    model_config = ConfigDict(extra="ignore")  # A stored one may hold fields that are gone.

    examples: int
    seconds: float
    whole: bool
    """Whether it came to the end of an epoch."""
    pause: float
    """Seconds by which the first examples took longer than others: a shuffle fills its buffer."""

    @property
    def examples_per_second(self) -> float:
        """The rate, its pause included."""
        return self.examples / self.seconds


class Cacheable(Value):
    """A dataset that a factory hands to its parameter `cache`."""

    elements: int | None = None
    """How many there are; None where counting took too long, or they never end."""
    element_bytes: int = 0
    change: Change = Change.NOTHING


class Returned(Value):
    """The kind of data that the dataset factory returns, of all that `Model.fit` takes."""

    arguments: bool = False
    """Arrays as a tuple, in the order of the arguments of `Model.fit`."""
    arrays: bool = False
    """Arrays: this tuple, or features alone."""
    beside: bool = False
    """Whether it comes first in a tuple, with data for the validation behind it."""
    by_python: bool = False
    """A `keras.utils.PyDataset`."""
    unbatched: bool = False
    """Whether its batches are taken apart, because the user asked for it."""
    uneven: bool = False
    """Whether some of its batches may hold less than `batch_size`."""

    @property
    def plain(self) -> bool:
        """Whether it is a dataset that a program can use as it is."""
        return self == Returned()


class FitCall(Value):
    """A place in a script that calls something's `fit`."""

    line: int
    of: str
    """What it is called on, as the script writes it: `model`."""


class FitData(StrEnum):
    """The kind of data that a script gives to its `fit`."""

    DATASET = "dataset"
    """A `tf.data.Dataset`."""
    PY_DATASET = "PyDataset"
    GENERATOR = "generator"
    ARRAYS = "arrays"


class OwnStrategy(Value):
    """A strategy that a script makes, or asks TensorFlow for, before it trains."""

    title: str = ""
    """Its class; empty where it only asks for the current one."""
    line: int | None = None
    replicas: int = 1
    """As many as it would have on this machine."""
    workers: int = 1


class FitFacts(Value):
    """Facts of a script's call of `fit`, beside those of model and data."""

    line: int | None = None
    """Of the script; None where nothing of it is under way, such as a handler at exit."""
    of: str = ""
    """What the line calls it on, as the script writes it; empty where it calls it otherwise."""
    data: FitData | None = None
    """None where it was not inspected."""
    epochs: int | None = None
    """As many as one call makes; None where it was not inspected."""
    loop: int | None = None
    """The first line under way that stands in a loop, which may call it again; None for none."""
    may_stop: bool = False
    """Whether a callback may end it before, such as EarlyStopping."""
    steps: int | None = None
    """Of an epoch, if it asks for so many."""
    batches: int | None = None
    """Of an epoch, where the data says how many, so the last may be smaller."""
    callbacks: bool = False
    """Whether it has any."""
    left_out: tuple[str, ...] = ()
    """Classes of callbacks that trials leave out."""
    only_batch: int | None = None
    """The size of its batches, where no others can be made of them or trained with."""
    others: tuple[FitCall, ...] = ()
    """Calls of a `fit` before it, and of those behind it the ones that may be Keras's, by their
    lines; Keras trains in one process only."""
    own_strategy: OwnStrategy | None = None
    """The first one that it makes; None where it makes none and asks for none."""
    network: int | None = None
    """The first line that connects to another machine; None where there is none."""
    eager: int | None = None
    """The line that asks for eager execution; None where none does."""
    backend: str | None = None
    """What Keras is to compute with, if the script or the environment says it."""


class WorkloadFacts(Value):
    """Found once, in a process of its own, by calling each factory and reading a few examples."""

    model_config = ConfigDict(extra="ignore")  # As above.

    # Of the data: found by reading the dataset alone, as far as the time let it come.
    dataset_takes: tuple[str, ...] = ()
    """Parameters that the dataset factory declares."""
    returned: Returned = Returned()
    examples: int | None = None
    """Examples in one epoch; None where counting took too long or the dataset never ends."""
    count: Count = Count.EXACT
    """What that number is."""
    example_bytes: int = 0
    """Bytes of one example, all components together."""
    element: str = ""
    """The element spec of one example, as text."""
    python_input: bool = False
    """Whether the dataset runs Python code while it is read: a generator, `py_function`,
    `numpy_function`. Only the process that made it can."""
    repeatable: bool = False
    """Whether two passes give the same, so that a cache changes nothing."""
    random_stage: str = ""
    """The last stage of the dataset that gives something else in every pass, by the name of its
    class; empty where none is known."""
    shuffle_buffer: int = 0
    """Of the shuffle at the end of the dataset that alone makes passes differ, and only in their
    order; 0 where there is none."""
    handed: tuple[Cacheable, ...] = ()
    """What the dataset factory hands to its parameter `cache`; empty where it has none."""
    file_shards: int = 0
    """The most workers between which the input's files can be divided; 0 where there are none."""
    cached: bool = False
    """Whether the dataset factory's own pipeline holds a cache, which the first epoch fills."""
    frozen_stage: str = ""
    """A stage before that cache that draws, by the name of its class: every epoch gets what it
    drew in the first one. Empty where there is none."""
    prefetched: int = 0
    """Examples that its own stages may hold ready before the first step."""
    first_pass: InputPass | None = None
    """Over the input alone; None where not even its beginning was seen in the time."""
    second_pass: InputPass | None = None
    """The same again, with what caches hold by then; None where the first was not whole."""
    usual_batch: int | None = None
    """Of the batches that the dataset factory returns, else the default of its parameter
    `batch_size`, or what a script gives to its `fit`; None where there is none."""
    uncertain: tuple[str, ...] = ()
    """Names of numbers here that another inspection may find otherwise: the time for counting
    ended first, or two passes differ."""

    # Of the model: read off a compiled one, and found by training it for a step or two.
    model_takes: tuple[str, ...] = ()
    """Parameters that the model factory declares."""
    weights: int = 0
    """Numbers that the model holds (all weights)."""
    gradient_bytes: int = 0
    """Bytes of one full set of gradients, which an all-reduce has to move."""
    dense_gradient_bytes: int = 0
    """Those of them that every step moves in full. An embedding's gradient holds only the rows
    that a batch has used, so it is gathered instead; an optimizer that accumulates moves none."""
    operations: int = 0
    """Operations in the graph of the model's forward pass, after which tracing and compiling its
    step takes time; 0 where it cannot be called by itself."""
    accumulated_steps: int = 1
    """Steps whose gradients make one update."""
    built_in_batch: int | None = None
    """The size of batches that is built into the model, so that half of it cannot be trained; None
    where any will do."""
    summed_loss: bool = False
    """Whether the loss is a sum over the batch, or one divided by a constant: with twice as many
    examples its gradients are twice as large."""
    carried_state: str = ""
    """The layer that says that it carries state from one batch to the next, such as a recurrent one
    with `stateful`; empty where none does."""
    eager: bool = False
    """Whether the user asks for eager execution, of the model or of every `tf.function`."""
    jit_compile: bool = False
    """Whether the step is compiled with XLA as the user has it; on GPUs Keras does so by itself."""
    uncompilable: str = ""
    """Why a model that runs eagerly cannot be compiled; empty where it can."""
    own_train_function: bool = False
    """Whether the model makes its `train_function` by itself, which only `Model.fit` calls."""
    only_steps: bool = False
    """Whether the model has no `call`: only its `train_step` knows what to do with a batch."""
    optimizer: str = ""
    """The classes of those that make a step, which need not be that of `compile`."""
    loss: str = ""
    """That of `compile`; empty where a step does without it."""

    # Of the user's code and of the call of a script.
    calling_seconds: float = 0.0
    """That the user's code takes in each process, until model and data are there."""
    first_step_seconds: float | None = None
    """From a script's `fit`, done by Keras as it is written, to the end of its first call of the
    step; None for factories, and where this was not seen."""
    own_step_seconds: float | None = None
    """Rough seconds of a later step there, by the script's own settings; None likewise."""
    between_seconds: float = 0.0
    """Rough seconds after an epoch of a script's `fit`: its validation, and its callbacks."""
    batch_callbacks: tuple[str, ...] = ()
    """Classes of the user's callbacks that do something before or after a batch."""
    learning: Learning | None = None
    """What an example teaches at other batch sizes; None where the objective does not ask."""
    fit: FitFacts | None = None
    """Of the call that a script makes; None for factories."""

    @property
    def bound(self) -> str:
        """The words before the number of examples, and before all that follows from it."""
        return "" if self.count is Count.EXACT else f"{self.count} "

    @property
    def how_many(self) -> str:
        """The number of examples in words, with what is known of it."""
        if self.examples is None:
            return "an unknown number of examples"
        return f"{self.bound}{plural(self.examples, 'example')}"

    @property
    def batched(self) -> bool:
        """Whether the dataset is made of batches of the size that is asked for."""
        returned = self.returned
        return returned.arrays or returned.by_python or "batch_size" in self.dataset_takes

    @property
    def lengths_vary(self) -> bool:
        """Whether examples need not be of one length: tokens, time steps or pixels."""
        element = self.element.replace("name=None", "")
        return "None" in element or "unknown" in element

    @property
    def arrays(self) -> bool:
        """Whether the data is arrays."""
        of_fit = self.fit is not None and self.fit.data is FitData.ARRAYS
        return self.returned.arrays or of_fit

    @property
    def py_dataset(self) -> bool:
        """Whether the data is a `keras.utils.PyDataset`, whose workers make its batches."""
        of_fit = self.fit is not None and self.fit.data is FitData.PY_DATASET
        return self.returned.by_python or of_fit

    def certain(self, name: str) -> Any:
        """Return a fact if every other inspection finds the same or nothing; None otherwise."""
        return None if name in self.uncertain else getattr(self, name)

    @property
    def declared(self) -> str:
        """The facts that every inspection finds, however busy its machine is, as text."""
        return self.model_dump_json(include=_DECLARED)

    @property
    def cache_bytes(self) -> int | None:
        """Bytes that a cache holds of all examples; None where their number is unknown."""
        handed = [(each.elements, each.element_bytes) for each in self.handed]
        parts = handed or [(self.examples, self.example_bytes)]
        return sum(n * b for n, b in parts if n) if all(n for n, _ in parts) else None


_DECLARED = {
    *("model_takes", "dataset_takes", "returned", "element"),
    *("weights", "gradient_bytes", "only_steps", "optimizer", "loss"),
}
"""Facts that are read off the model, the dataset and the factories' signatures. All others follow
from the code, which is part of a workload's identity already, or depend on a clock, on the first
example that came, or on chance; `docs/troubleshooting.md` lists them."""


class BatchSource(StrEnum):
    """Where the user's own batch comes from."""

    OPTION = "option"
    """The option `global_batch`."""
    FIT = "fit"
    """The call of `fit` in a script."""
    DATASET = "dataset"
    """The batches that the dataset factory returns."""
    FACTORY = "factory"
    """The default of the dataset factory's parameter `batch_size`."""
    KERAS = "keras"
    """The default of Keras."""


class OwnBatch(NamedTuple):
    """Examples per step in the user's training as it is."""

    size: int
    source: BatchSource


def own_batch(facts: WorkloadFacts, asked: int | None = None) -> OwnBatch:
    """Return the user's own global batch; a smaller dataset is a batch by itself."""
    if asked:
        return OwnBatch(asked, BatchSource.OPTION)
    usual = facts.usual_batch or Configuration().per_replica_batch
    if facts.usual_batch is None:
        source = BatchSource.KERAS
    elif facts.fit:
        source = BatchSource.FIT
    else:
        batches = facts.returned.unbatched or facts.returned.by_python
        source = BatchSource.DATASET if batches else BatchSource.FACTORY
    return OwnBatch(min(usual, facts.examples or usual), source)


def own_settings(facts: WorkloadFacts, asked: int | None = None) -> Configuration:
    """Return one device with the batch, the eager execution and the XLA that the user has."""
    batch = own_batch(facts, asked).size
    own = {"per_replica_batch": batch, "run_eagerly": facts.eager, "xla": facts.jit_compile}
    return Configuration().taking(own)


ASSUMED_SECONDS = 3600.0
"""Length of a training of which nothing is known."""


class LengthSource(StrEnum):
    """Where the length of a training comes from."""

    SCRIPT = "script"
    """The epochs and steps of the script's own `fit`."""
    EPOCHS = "epochs"
    """The user's number of epochs."""
    TRAIN_FOR = "train_for"
    """The user's own time."""
    ASSUMED = "assumed"
    """Nothing is known: an hour."""


class Length(Value):
    """Length of a training by the user's own settings: `examples`, or else `seconds`, are known."""

    source: LengthSource = LengthSource.ASSUMED
    epochs: int | None = None
    """None where only a time is known."""
    examples: float | None = None
    """All examples that the training presents, each epoch counted; None where a time is known."""
    seconds: float | None = ASSUMED_SECONDS
    """Seconds in which the own settings take all steps; None where they follow from `examples`."""
    between: float = 0.0
    """Seconds that no setting changes: validation, callbacks and checkpoints between epochs."""
    at_most: bool = False
    """Whether it may end before, such as by EarlyStopping."""

    def seconds_at(self, examples_per_second: float | None) -> float | None:
        """Return the time of the whole training where the own settings reach a rate.

        None where that follows from a rate that is not known.
        """
        if self.examples is None:
            return self.between + (self.seconds or 0.0)
        if not examples_per_second:
            return None
        return self.between + self.examples / examples_per_second


def length_of(
    facts: WorkloadFacts, *, epochs: int | None = None, train_for: float | None = None
) -> Length:
    """Return how long a training is by the user's own settings; an hour where nothing tells.

    Args:
        facts: Of its workload.
        epochs: The user's number of epochs, which counts before that of a script.
        train_for: The user's own time in seconds, which counts before all epochs.
    """
    if train_for is not None:
        return Length(source=LengthSource.TRAIN_FOR, seconds=train_for)
    fit = facts.fit
    of_script = fit.epochs if fit and not fit.loop else None
    many = epochs or of_script
    if many is None or facts.examples is None:
        return Length()
    return Length(
        source=LengthSource.EPOCHS if epochs else LengthSource.SCRIPT,
        epochs=many,
        examples=many * facts.examples,
        seconds=None,
        between=many * facts.between_seconds,
        at_most=bool(fit and fit.may_stop),
    )


def own_rate(facts: WorkloadFacts) -> float | None:
    """Return the rough examples per second of a script's own `fit`; None where it was not timed."""
    return own_batch(facts).size / facts.own_step_seconds if facts.own_step_seconds else None


def why_assumed(facts: WorkloadFacts) -> str:
    """Return why nothing is known of the length of a training, as a clause."""
    fit = facts.fit
    if fit is None:
        return "two functions do not tell how many epochs it has"
    if fit.loop:
        return f"line {fit.loop} calls fit again and again"
    if facts.examples is None:
        return "nobody knows how many examples an epoch has"
    return "the script does not tell how many epochs it has"
