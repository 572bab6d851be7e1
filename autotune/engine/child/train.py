"""Runs a program with a clock attached, for its steps or for what it does between its epochs.

Where that is asked, it trains without the exchange of gradients: under a synchronous strategy Keras
adds up the gradients of all replicas in one method of its optimizers, dense and sparse ones alike,
before it applies them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import tensorflow as tf

from autotune.engine import events
from autotune.engine.child import private
from autotune.engine.child.clock import BetweenTimes, CallbackTimes, Clock, watch_callbacks
from autotune.engine.child.member import Member
from autotune.engine.child.notes import patched
from autotune.engine.events import EventWriter

CALLS = 2
"""Of the training step in an epoch, where what lies between epochs is timed."""


def train(member: Member) -> None:
    """Run the training program until the tuner ends it."""
    if not member.request["exchanges"]:
        private.remove_exchange()
    times = CallbackTimes()
    watch_callbacks(times.add)
    program = member.program()
    if member.request["fill"]:
        fill_caches(program, member.request["fill"], member.writer)
    clock = Clock(member.writer, member.request["steps_per_call"], callbacks=times.take)
    program.main(member.arguments(), callbacks=[clock])


def between_epochs(member: Member) -> None:
    """Train in short epochs, and report what lies between them."""
    program, per_call = member.program(), member.request["steps_per_call"]

    def answer() -> None:
        member.leave(times.answer)
        member.writer.write(events.ANSWERED)

    times = BetweenTimes(answer)
    watch_callbacks(times.add)
    arguments = member.arguments(verbose=0, **{"steps-per-epoch": CALLS * per_call})
    # The clock tells how far the training is.
    program.main(arguments, callbacks=[Clock(member.writer, per_call), times])
    member.finish(times.answer)  # A callback of the user's has ended it.


def fill_caches(program: ModuleType, order: Mapping[str, Any], report: EventWriter) -> None:
    """Have a program's input be read alone for an epoch as soon as the program has made it."""
    make = program.make_dataset

    def filled(*arguments: Any, **options: Any) -> Any:
        def made(few: int) -> Any:
            with patched((tf.data.Dataset, "cache", partial(_smaller_cache, few))):
                return make(*arguments, **options)

        wanted, seconds = order["examples"], order["seconds"]
        dataset = make(*arguments, **options) if order["whole"] else made(wanted)
        read = read_epoch(dataset, wanted, seconds)
        if 0 < read < wanted:
            # What was read in the time can be read again.
            dataset, wanted = made(read), read
            read = read_epoch(dataset, wanted, 2 * seconds)
        report.write(events.FILLED, result={"filled": read if read == wanted else 0})
        return dataset

    program.make_dataset = filled  # type: ignore[attr-defined] # the program's own name


def read_epoch(dataset: Any, examples: int, seconds: float) -> int:
    """Read batches past the end of an epoch, and return how many of its examples were read."""
    deadline, read = time.monotonic() + seconds, 0
    for batch in dataset:
        # Only who asks for more than there is makes a cache complete.
        if read > examples:
            return examples
        read += int(tf.nest.flatten(batch)[0].shape[0])
        if time.monotonic() > deadline:
            break
    return min(read, examples - 1)


def _smaller_cache(examples: int, cache: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes caches that hold no more than that."""

    def smaller(dataset: Any, filename: Any = "", name: str | None = None) -> Any:
        # What the user keeps in a file must be whole.
        own = bool(filename) and not str(filename).startswith(tempfile.gettempdir())
        few = dataset if own else dataset.take(max(examples // _rows(dataset), 1))
        return cache(few, filename, name)

    return smaller


def _rows(dataset: Any) -> int:
    """Return the examples in an element: those of a batch have one first dimension in common."""
    shapes = [spec.shape for spec in tf.nest.flatten(dataset.element_spec)]
    firsts = {shape[0] if shape.rank else None for shape in shapes}
    first = firsts.pop() if len(firsts) == 1 else None
    return int(first) if first else 1
