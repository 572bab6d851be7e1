"""Runs a program for a few steps with an observer attached, and reports what it saw.

The program's text stays as it is. What it looks up by name is wrapped in its module: its strategy,
whose input is read and counted before the training takes the first batches of it again and again;
or, in a reference, its dataset, which gives these same batches to one device.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from autotune.engine import events
from autotune.engine.child.batches import GlobalBatches, Input, count_all, load_pickle
from autotune.engine.child.program import input_of, load_program
from autotune.engine.child.script import fit_reached
from autotune.engine.child.weight_recorder import Reference, WeightRecorder
from autotune.engine.events import EventWriter
from autotune.engine.folder import TrialFolder

_RUNS = 3
"""Runs of a reference: as it is, and with two sets of other roundings."""


def observe(folder: TrialFolder, writer: EventWriter, index: int) -> None:
    """Train as one process of the program, and report."""
    request = json.loads(folder.request.read_text(encoding="utf-8"))
    order = request["order"]
    program = load_program(folder, request["by_value"])
    given = Input(order["reads"], order["kept"])
    _wrap(program, "make_strategy", given.watch)
    save_to = folder.first_weights if index == 0 else None
    callback = WeightRecorder(writer, save_to)
    program.main(_arguments(request, order["calls"]), callbacks=[callback])
    _write(folder.kept(index), given.kept_pickle())
    answer = {**(callback.seen or {}), "readers": given.as_json(), "replayed": given.replayed}
    finish(folder, writer, index, {"witnesses": [answer]})


def refer(folder: TrialFolder, writer: EventWriter, index: int) -> None:
    """Train one device on the batches of another run, more than once, and report."""
    request = json.loads(folder.request.read_text(encoding="utf-8"))
    order = request["order"]
    program = load_program(folder, request["by_value"])
    source = TrialFolder(folder.reference)
    whole = _whole(program, order)
    batches = GlobalBatches([source.kept(i) for i in range(order["processes"])])
    witnesses = _references(program, request, writer, source, batches) if batches else []
    finish(folder, writer, index, {"witnesses": witnesses, "whole": whole})


def _references(
    program: ModuleType,
    request: Mapping[str, Any],
    writer: EventWriter,
    source: TrialFolder,
    batches: GlobalBatches,
) -> list[dict[str, Any]]:
    order = request["order"]
    weights = load_pickle(source.first_weights)
    dataset = batches.dataset(_RUNS, order["calls"] * order["steps_per_call"])
    program.make_dataset = lambda: dataset  # type: ignore[attr-defined] # the program's own name
    callback = Reference(writer, weights, next(iter(dataset)), order["calls"])
    program.main(_arguments(request, _RUNS * order["calls"]), callbacks=[callback])
    return callback.seen


def _arguments(request: Mapping[str, Any], calls: int) -> list[str]:
    order = request["order"]
    given = {
        "epochs": calls,
        # An epoch per call, because the loss of an epoch is that of all replicas.
        "steps-per-epoch": order["steps_per_call"],
        "seed": request["seed"],
        "verbose": 0,
    }
    return [text for name, value in given.items() for text in (f"--{name}", str(value))]


def _wrap(program: ModuleType, name: str, then: Callable[[Any], None]) -> None:
    """Have something done with what a function of the program returns."""
    original = getattr(program, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        value = original(*arguments, **options)
        then(value)
        return value

    setattr(program, name, wrapped)


def _whole(program: ModuleType, order: Mapping[str, Any]) -> dict[str, Any] | None:
    """Count all examples, if that is asked for and they can be told apart."""
    if not order["counting_seconds"]:
        return None
    with fit_reached(program) if hasattr(program, "run_script") else nullcontext():
        made: list[Any] = []
        _wrap(program, input_of(program), made.append)
        program.make_dataset()
        return count_all(made[0], order["counting_seconds"], batched=order["batched"])


def finish(
    folder: TrialFolder, writer: EventWriter, index: int, answer: Mapping[str, Any]
) -> NoReturn:
    """Leave the answer, and stay until the tuner, who waits for all answers, ends every process.

    A worker that left would take its connections with it while the others still need them.
    """
    leave(folder, index, answer)
    writer.write(events.ANSWERED)
    while True:
        time.sleep(1)


def leave(folder: TrialFolder, index: int, answer: Mapping[str, Any]) -> None:
    """Leave an answer, which may not be the last."""
    _write(folder.answers(index), json.dumps(answer).encode())


def _write(path: Path, data: bytes) -> None:
    """Write a file that is there either whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(data)
    os.replace(draft, path)  # noqa: PTH105 - the atomic one
