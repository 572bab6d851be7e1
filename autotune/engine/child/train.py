"""Runs a program with a clock attached, and where that is asked without the exchange of gradients.

Under a synchronous strategy Keras adds up the gradients of all replicas in one method of its
optimizers, dense and sparse ones alike, before it applies them.
"""

from __future__ import annotations

from typing import Any

from autotune.engine.child.callback_times import CallbackTimes
from autotune.engine.child.clock import Clock, ClockCallback
from autotune.engine.child.fill import fill_caches
from autotune.engine.child.member import Member


def train(member: Member) -> None:
    """Run the training program until the tuner ends it."""
    if not member.request["exchanges"]:
        remove_exchange()
    times = CallbackTimes()
    times.watch()
    program = member.program()
    if member.request["fill"]:
        fill_caches(program, member.request["fill"], member.writer)
    # A program that sets no number takes one step for each call.
    steps = int(getattr(program, "STEPS_PER_EXECUTION", 1))
    clock = ClockCallback(Clock(member.writer, callbacks=times.take), steps)
    program.main(member.arguments(), callbacks=[clock])


def remove_exchange() -> None:
    """Have every replica apply its own gradients, from now on and in all of this process.

    Raises:
        AttributeError: This version of Keras adds them up elsewhere.
    """
    from keras.src.backend.tensorflow.optimizer import TFOptimizer  # noqa: PLC0415 - private

    _ = TFOptimizer._all_reduce_sum_gradients  # noqa: SLF001 - nothing public does it
    TFOptimizer._all_reduce_sum_gradients = _own  # noqa: SLF001 - as above


def _own(_: Any, grads_and_vars: Any) -> list[Any]:
    return list(grads_and_vars)
