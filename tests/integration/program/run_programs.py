"""Runs programs one after the other, each in a process of its own, after a single import.

Reads an order from each line of stdin, and answers it with the program's exit code. Each is run in
a fork of this process, which imports TensorFlow and computes nothing: so none sees another's
devices, threads or seeds, and none of them pays for the import again. Where a `result` is ordered,
what the program did is noted there; others are run as `python PROGRAM` would. What they print goes
to the `output`.
"""

import contextlib
import io
import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import keras


class Recorder(keras.callbacks.Callback):
    """Notes what a clock would: every call, its logs, and the random states of the replicas."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.losses: list[float] = []
        self.kinds: set[str] = set()
        self.epochs: list[dict[str, float]] = []
        self.updates: list[int] = []
        self.seeds: list[list[list[int]]] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        del logs
        for variable in self.model.non_trainable_variables:
            if variable.name == "seed_generator_state":
                copies = getattr(variable.value, "values", [variable.value])
                self.seeds.append([each.numpy().tolist() for each in copies])

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.batches.append(batch)
        loss = (logs or {})["loss"]
        self.kinds.add("number" if isinstance(loss, float) else "tensor")
        self.losses.append(float(loss))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Note the metrics of an epoch, and how many updates there were until its end."""
        del epoch
        self.updates.append(int(self.model.optimizer.iterations.numpy()))
        self.epochs.append({name: float(value) for name, value in (logs or {}).items()})

    def summary(self) -> dict[str, Any]:
        model = {"jit": self.model.jit_compile, "k": self.model.steps_per_execution}
        names = ("batches", "losses", "epochs", "seeds", "updates")
        notes = {name: getattr(self, name) for name in names}
        return {**model, **notes, "kinds": sorted(self.kinds)}


def note(order: dict[str, Any]) -> None:
    """Run a program with a recorder, and write down what it did and what it printed."""
    recorder = Recorder()
    sys.path.insert(0, str(Path(order["program"]).parent))
    program = runpy.run_path(order["program"])
    # Functions look names up where they were defined, which is not the copy that runpy returns.
    scope = program["main"].__globals__
    scope.update(program)
    if "data_of" in order:
        scope["dataset_fn"] = runpy.run_path(order["data_of"])["dataset_fn"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            scope["main"](order["arguments"], callbacks=[recorder])
        except SystemExit as exc:
            found = {"exit": exc.code}
        else:
            found = recorder.summary()
    Path(order["result"]).write_text(json.dumps({**found, "printed": printed.getvalue()}))


def run(order: dict[str, Any]) -> None:
    sys.argv = [order["program"], *order["arguments"]]
    sys.path[0] = str(Path(order["program"]).parent)
    runpy.run_path(order["program"], run_name="__main__")


def run_apart(order: dict[str, Any]) -> int:
    """Run a program in a fork; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    os.chdir(order["cwd"])
    os.environ.update(order["environment"])
    status = 1
    try:
        (note if "result" in order else run)(order)
        status = 0
    except SystemExit as exc:
        if isinstance(exc.code, str):
            sys.stderr.write(f"{exc.code}\n")
        status = 1 if exc.code else 0
    except BaseException:  # noqa: BLE001 - whatever it is, it belongs into the report
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    for line in sys.stdin:
        print(run_apart(json.loads(line)), flush=True)  # noqa: T201 - the answer
