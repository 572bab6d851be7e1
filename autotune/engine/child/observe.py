"""Runs a program for a few steps with an observer attached, and reports what it saw.

The program's text stays as it is. What it looks up by name is wrapped in its module: its strategy,
whose input is read and counted before the training takes the first batches of it again and again;
or, in a reference, its dataset, which gives these same batches to one device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import ModuleType
from typing import Any

from autotune.engine.child.batches import (
    Input,
    count_all,
    global_batches,
    in_runs,
    load_pickle,
)
from autotune.engine.child.member import Member, input_of, write_whole
from autotune.engine.child.script import fit_reached
from autotune.engine.child.weight_recorder import Reference, WeightRecorder
from autotune.engine.folder import TrialFolder

_RUNS = 3
"""Runs of a reference: as it is, and with two sets of other roundings."""


def observe(member: Member) -> None:
    """Train as one process of the program, or as its reference, and report."""
    if member.request["reference_to"]:
        member.finish(_as_reference(member))
    request, program = member.request, member.program()
    given = Input(request["reads"], request["kept"])
    _wrap(program, "make_strategy", given.watch)
    save_to = member.folder.first_weights if member.index == 0 else None
    callback = WeightRecorder(member.writer, save_to)
    program.main(_arguments(member, request["calls"]), callbacks=[callback])
    write_whole(member.folder.kept(member.index), given.kept_pickle())
    answer = {**(callback.seen or {}), "readers": given.as_json(), "replayed": given.replayed}
    member.finish({"ranks": [answer]})


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
    """Count all examples, if that is asked for and they can be distinguished."""
    if not request["counting_seconds"]:
        return None
    with fit_reached(program) if hasattr(program, "run_script") else nullcontext():
        made: list[Any] = []
        _wrap(program, input_of(program), made.append)
        program.make_dataset()
        return count_all(made[0], request["counting_seconds"], batched=request["batched"])
