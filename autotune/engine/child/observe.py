"""Runs a program for a few steps with an observer attached, and reports what it saw.

The program's text stays as it is. What it looks up by name is wrapped in its module: its strategy,
whose input is read and counted before the training takes the first batches of it again and again;
or, in a reference, its dataset, which gives these same batches to one device.

The weights on every replica and the losses are recorded. Random numbers are made deterministic
first, so that two trainings can be compared.
"""

import hashlib
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child import private
from autotune.engine.child.dataset import within
from autotune.engine.child.process import Member, write_whole
from autotune.engine.child.script import fit_reached
from autotune.engine.child.train import number_of
from autotune.engine.events import EventWriter, TrialFolder

_DEALERS = ("experimental_distribute_dataset", "distribute_datasets_from_function")
"""Methods of a strategy that turn a dataset into what its replicas read."""
_RUNS = 3
"""Runs of a reference: as it is, and with two sets of other roundings."""


def observe(member: Member) -> None:
    """Train as one process of the program, or as its reference, and report."""
    if member.request["reference_to"]:
        member.finish(_as_reference(member))
    request, program = member.request, member.program()
    given = Input(request["reads"], request["kept"])
    if hasattr(program, "make_strategy"):
        _wrap(program, "make_strategy", given.watch)
    else:  # One device.
        given.watch(tf.distribute.get_strategy())
    save_to = member.folder.first_weights if member.index == 0 else None
    callback = WeightRecorder(member.writer, save_to)
    program.main(_arguments(member, request["calls"]), callbacks=[callback])
    write_whole(member.folder.kept(member.index), given.kept_pickle())
    member.finish({"ranks": [{**(callback.seen or {}), "readers": given.as_json()}]})


def _as_reference(member: Member) -> dict[str, Any]:
    """Train one device on the batches of another run, more than once."""
    request, program = member.request, member.program()
    whole, source = _whole(program, request), TrialFolder(member.folder.reference)
    batches = global_batches([source.kept(i) for i in range(request["processes"])])
    if not batches:
        return {"ranks": [], "whole": whole}
    dataset = in_runs(batches, _RUNS, request["calls"] * request["steps_per_call"])
    program.make_dataset = lambda: dataset  # type: ignore[attr-defined] # the program's own name
    weights = load_pickle(source.first_weights)
    callback = Reference(member.writer, weights, next(iter(dataset)), request["calls"])
    program.main(_arguments(member, _RUNS * request["calls"]), callbacks=[callback])
    return {"ranks": callback.seen, "whole": whole}


def _arguments(member: Member, calls: int) -> list[str]:
    # An epoch per call, because the loss of an epoch is that of all replicas.
    steps = {"steps-per-epoch": member.request["steps_per_call"]}
    return member.arguments(epochs=calls, verbose=0, **steps)


def _wrap(program: ModuleType, name: str, then: Callable[[Any], None]) -> None:
    original = getattr(program, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        value = original(*arguments, **options)
        then(value)
        return value

    setattr(program, name, wrapped)


def _whole(program: ModuleType, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Count all examples as far as the time lets one come; None where that is not asked for."""
    if not request["counting_seconds"]:
        return None
    with fit_reached(program) if hasattr(program, "script") else nullcontext():
        made: list[Any] = []
        _wrap(program, "data_fn" if hasattr(program, "data_fn") else "dataset_fn", made.append)
        program.make_dataset()
        parts = _parts(made[0], batched=request["batched"])
        progress = within(request["counting_seconds"], parts)
        examples = Counter(chain.from_iterable(progress.values))
        return {"examples": examples, "complete": progress.done}


@dataclass
class Readings:
    """Notes on the batches of one replica."""

    sizes: list[int] = field(default_factory=list)
    elements: list[str] = field(default_factory=list)
    """Structure, types and shapes, without the size of a batch; each once."""
    examples: Counter[str] | None = field(default_factory=Counter)
    """By their fingerprints; None where there are others than tensors."""

    def add(self, batch: Any) -> None:
        leaves = tf.nest.flatten(batch)
        specs = [f"{leaf.dtype.name} {[*leaf.shape[1:]]}" for leaf in leaves]
        element = str(tf.nest.pack_sequence_as(batch, specs))
        self.elements += [element] * (element not in self.elements)
        if not all(isinstance(leaf, tf.Tensor) for leaf in leaves):
            self.examples = None
            return
        arrays = [leaf.numpy() for leaf in leaves]
        self.sizes.append(min(len(each) if each.ndim else 0 for each in arrays))
        if self.examples is not None:
            self.examples.update(fingerprints(arrays))


def fingerprints(arrays: list[Any]) -> Iterator[str]:
    """Yield what tells each example of a batch from every other."""
    for example in zip(*arrays, strict=True):
        digest = hashlib.blake2b(digest_size=8)
        for part in example:
            digest.update(_bytes(part))
        yield digest.hexdigest()


def _parts(dataset: Any, *, batched: bool) -> Iterator[list[str]]:
    for element in dataset:
        # Of scalars numpy gives numbers or bytes.
        arrays = [np.asarray(leaf.numpy()) for leaf in tf.nest.flatten(element)]
        yield [*fingerprints(arrays if batched else [each[np.newaxis] for each in arrays])]


def _bytes(part: Any) -> bytes:
    array = np.asarray(part)
    if array.dtype != object:
        return array.tobytes()
    return b"\0".join(bytes(each) for each in array.flat)


class Input:
    """Reads and counts some steps of every replica's batches; it trains on the first of these."""

    def __init__(self, reads: int, kept: int) -> None:
        self._reads = reads
        self._kept = kept
        self._readers: list[Readings] = []
        self._steps: list[tuple[Any, ...]] = []
        self._replayed = False
        """Whether the program was given the batches that were kept."""

    def watch(self, strategy: Any) -> None:
        """Be called whenever the strategy deals out a dataset."""
        deal_out = strategy.distribute_datasets_from_function
        for name in _DEALERS:
            setattr(strategy, name, self._watched(getattr(strategy, name), strategy, deal_out))

    def as_json(self) -> list[Any]:
        return [vars(each) for each in self._readers]

    def kept_pickle(self) -> bytes:
        """Return the kept batches, for each step those of all local replicas."""
        kept = self._steps if self._replayed else []
        return pickle.dumps(tf.nest.map_structure(lambda leaf: leaf.numpy(), kept))

    def _watched(
        self, original: Callable[..., Any], strategy: Any, deal_out: Callable[..., Any]
    ) -> Callable[..., Any]:
        def deal(*arguments: Any, **options: Any) -> Any:
            distributed = original(*arguments, **options)
            self._read(distributed, strategy)
            if not all(isinstance(each, tf.Tensor) for each in tf.nest.flatten(self._steps)):
                return distributed
            self._replayed = True
            again = _endless([batch for step in self._steps for batch in step])
            return deal_out(lambda _: again)

        return deal

    def _read(self, distributed: Any, strategy: Any) -> None:
        iterator = iter(distributed)
        for step in range(self._reads):
            batches = tuple(strategy.experimental_local_results(next(iterator)))
            if not self._readers:
                self._readers = [Readings() for _ in batches]
            for reader, batch in zip(self._readers, batches, strict=True):
                reader.add(batch)
            if step < self._kept:
                self._steps.append(batches)


def global_batches(files: Sequence[Path]) -> list[Any]:
    """Return the batches of all replicas of another run, put together step by step."""
    steps = zip(*map(load_pickle, files), strict=True)
    joined = ([batch for part in step for batch in part] for step in steps)
    return [tf.nest.map_structure(lambda *parts: np.concatenate(parts), *each) for each in joined]


def in_runs(batches: Sequence[Any], runs: int, steps: int) -> Any:
    """Return batches for several runs, in each but the first with their examples mixed."""
    draw = np.random.default_rng(0)
    dataset = _endless(batches).take(steps)
    for _ in range(1, runs):
        mixed = []
        for batch in batches:
            order = draw.permutation(len(tf.nest.flatten(batch)[0]))
            mixed.append(tf.nest.map_structure(lambda part, o=order: part[o], batch))
        dataset = dataset.concatenate(_endless(mixed).take(steps))
    return dataset.repeat()


def load_pickle(path: Path) -> Any:
    return pickle.loads(path.read_bytes())  # noqa: S301 - written by the observed processes


def _endless(batches: Sequence[Any]) -> Any:
    dataset = tf.data.Dataset.from_tensors(batches[0])
    for batch in batches[1:]:
        dataset = dataset.concatenate(tf.data.Dataset.from_tensors(batch))
    return dataset.repeat()


_SEED = "seed_generator_state"
"""The name that Keras gives to the state of every generator of random numbers."""
_FAR = 7_000_003
"""Between the states of random numbers of two runs."""


class Held(NamedTuple):
    variable: Any
    kind: str


def variables_of(model: Any) -> list[Held]:
    return weights_of(model) + random_of(model)


def weights_of(model: Any) -> list[Held]:
    trainable = {id(each) for each in model.trainable_variables}
    return [Held(v, "trainable" if id(v) in trainable else "state") for v in model.weights]


def random_of(model: Any) -> list[Held]:
    return [Held(each, "random") for each in model.variables if each.name == _SEED]


def optimizers_of(model: Any) -> list[Held]:
    """Return the optimizer's variables, which may exist only once it has taken a step."""
    if model.optimizer is None:
        return []
    return [Held(each, "optimizer") for each in model.optimizer.variables]


def described(held: Held, strategy: Any) -> dict[str, Any]:
    dtype = tf.as_dtype(held.variable.dtype)
    inner = held.variable.value
    return {
        "name": getattr(held.variable, "path", held.variable.name),
        "kind": held.kind,
        "epsilon": _epsilon(dtype),
        "copies": len(strategy.experimental_local_results(inner)),
        "mirrored": isinstance(inner, tf.distribute.DistributedValues),
        "apart": private.is_summed_on_read(inner),
    }


def copies(everything: list[Held], strategy: Any) -> list[list[list[float]]]:
    """Return for each local replica the sketch of each variable."""
    local = strategy.experimental_local_results
    columns = [[sketch(each.numpy()) for each in local(h.variable.value)] for h in everything]
    replicas = max(map(len, columns), default=1)
    # A variable with one copy is the same to all replicas that use it.
    full = [each if len(each) == replicas else each[:1] * replicas for each in columns]
    return [list(row) for row in zip(*full, strict=True)]


def _epsilon(dtype: Any) -> float:
    """Return the relative size of a rounding; 0 for whole numbers."""
    if dtype == tf.bfloat16:
        return 2.0**-7  # numpy does not know it
    return float(np.finfo(dtype.as_numpy_dtype).eps) if dtype.is_floating else 0.0


def make_deterministic(model: Any) -> list[str]:
    """Silence the layers of a model whose training differs between replicas by design."""
    layers = [each for each in private.layers_of(model) if _differs(each)]
    for layer in layers:
        layer.call = _as_in_inference(layer.call)
    return sorted({type(layer).__name__ for layer in layers})


def _differs(layer: Any) -> bool:
    if isinstance(layer, keras.layers.BatchNormalization):
        # A synchronized one normalizes by the global batch, as one device does.
        return not layer.synchronized
    return private.draws_numbers(layer)


def _as_in_inference(call: Callable[..., Any]) -> Callable[..., Any]:
    def quiet(*arguments: Any, **options: Any) -> Any:
        if options.get("training"):
            options["training"] = False
        return call(*arguments, **options)

    return quiet


class Notes:
    """Notes on a model between the first step and the last."""

    def __init__(self, model: Any, silenced: Sequence[str]) -> None:
        self._model = model
        self._silenced = silenced
        self._start = copies(variables_of(model), model.distribute_strategy)
        self._losses: list[float] = []

    def add(self, logs: Mapping[str, Any] | None) -> None:
        loss = (logs or {}).get("loss")
        self._losses.append(number_of(loss, otherwise=float("nan")))

    def as_json(self) -> dict[str, Any]:
        strategy = self._model.distribute_strategy
        held = variables_of(self._model) + optimizers_of(self._model)
        pairs = zip(self._start, copies(held, strategy), strict=True)
        return {
            "variables": [described(each, strategy) for each in held],
            "copies": [{"start": start, "end": end} for start, end in pairs],
            "losses": self._losses,
            "silenced": self._silenced,
        }


class _Recorder(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Notes the loss of each call, which is an epoch of its own, and reports how far it is."""

    def __init__(self, writer: EventWriter) -> None:
        super().__init__()
        self._writer = writer
        self._since = 0.0
        self._notes: Notes | None = None

    def begin(self) -> None:
        self._writer.write(events.TRAIN_BEGIN)
        self._since = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        if self._notes is not None:
            self._notes.add(logs)
        if epoch == 0:
            seconds = time.monotonic() - self._since
            self._writer.write(events.FIRST_STEP, steps=1, seconds=seconds)


class WeightRecorder(_Recorder):
    def __init__(self, writer: EventWriter, save_to: Path | None = None) -> None:
        super().__init__(writer)
        self._save_to = save_to
        self.seen: dict[str, Any] | None = None
        """What was noted, once the training is over."""

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._notes = Notes(self.model, make_deterministic(self.model))
        if self._save_to is not None:
            local = self.model.distribute_strategy.experimental_local_results
            held = [each.variable.value for each in weights_of(self.model)]
            self._save_to.write_bytes(pickle.dumps([local(each)[0].numpy() for each in held]))
        self.begin()

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        if self._notes is not None:
            self.seen = self._notes.as_json()


class Reference(_Recorder):
    """Has one device make the same training several times, in one, and notes each.

    It starts from given weights, and each time but the first from the numbers next to them. All
    in one training, because a new one would compile everything anew.
    """

    def __init__(self, writer: EventWriter, weights: Sequence[Any], batch: Any, calls: int) -> None:
        super().__init__(writer)
        self._weights = weights
        self._batch = batch
        self._calls = calls
        self._silenced: list[str] = []
        self._fresh: list[Any] = []
        self.seen: list[dict[str, Any]] = []
        """What was noted each time."""

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        model = self.model
        if len(weights_of(model)) < len(self._weights):
            model(keras.utils.unpack_x_y_sample_weight(self._batch)[0])
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        self._silenced = make_deterministic(model)
        self._fresh = [held.variable.numpy() for held in optimizers_of(model)]
        self.begin()

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        if epoch % self._calls == 0:
            self._go_back(epoch // self._calls)
            self._notes = Notes(self.model, self._silenced)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        super().on_epoch_end(epoch, logs)
        if self._notes is not None and (epoch + 1) % self._calls == 0:
            self.seen.append(self._notes.as_json())

    def _go_back(self, run: int) -> None:
        draw = np.random.default_rng(run) if run else None
        for held, weight in zip(weights_of(self.model), self._weights, strict=True):
            held.variable.assign(_nudged(weight, draw))
        for held, value in zip(optimizers_of(self.model), self._fresh, strict=True):
            held.variable.assign(value)
        if run:
            # Where random numbers still matter, the runs differ, and the check knows that.
            for held in random_of(self.model):
                held.variable.assign(held.variable.value + np.array([_FAR, 0]))


def _nudged(weight: Any, draw: np.random.Generator | None) -> Any:
    """Return a neighbour of every number: what another order of adding up could have given."""
    if draw is None or weight.dtype.kind != "f":
        return weight
    far = np.where(draw.integers(0, 2, weight.shape) > 0, np.inf, -np.inf)
    return np.nextafter(weight, far.astype(weight.dtype))


BUCKETS = 16
"""Numbers in a sketch. A distance read from so many is right within about a fifth."""
_CHUNK = 1 << 20
"""Values at a time, a multiple of `BUCKETS`, because the sums need eight bytes for each."""


def sketch(values: object) -> list[float]:
    flat = np.asarray(values).ravel()
    signs = np.random.default_rng(0)
    total = np.zeros(BUCKETS)
    for first in range(0, flat.size, _CHUNK):
        chunk = flat[first : first + _CHUNK].astype(np.float64)
        chunk *= 2.0 * signs.integers(0, 2, chunk.size, dtype=np.int8) - 1.0
        total += np.pad(chunk, (0, -chunk.size % BUCKETS)).reshape(-1, BUCKETS).sum(axis=0)
    return [float(each) for each in total]
