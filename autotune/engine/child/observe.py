"""Runs a program for a few steps with an observer attached, and reports what it saw.

The program's text stays as it is. What it looks up by name is wrapped in its module: its strategy,
whose input is read and counted before the training takes the first batches of it again and again;
or, in a reference, its dataset, which gives these same batches to one device.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from autotune.engine.child.member import Member, write_whole
from autotune.engine.child.passes import within
from autotune.engine.child.script import fit_reached
from autotune.engine.child.weight_recorder import Reference, WeightRecorder
from autotune.engine.folder import TrialFolder

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
    """What is noted of the batches of one replica."""

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
        mixed = [_mixed(each, draw) for each in batches]
        dataset = dataset.concatenate(_endless(mixed).take(steps))
    return dataset.repeat()


def load_pickle(path: Path) -> Any:
    return pickle.loads(path.read_bytes())  # noqa: S301 - written by the observed processes


def _mixed(batch: Any, draw: np.random.Generator) -> Any:
    order = draw.permutation(len(tf.nest.flatten(batch)[0]))
    return tf.nest.map_structure(lambda part: part[order], batch)


def _endless(batches: Sequence[Any]) -> Any:
    dataset = tf.data.Dataset.from_tensors(batches[0])
    for batch in batches[1:]:
        dataset = dataset.concatenate(tf.data.Dataset.from_tensors(batch))
    return dataset.repeat()
