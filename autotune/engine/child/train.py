"""Runs a program with a clock attached."""

from __future__ import annotations

from autotune.engine.child.callback_times import CallbackTimes
from autotune.engine.child.clock import Clock, ClockCallback
from autotune.engine.child.exchange import remove_exchange
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
