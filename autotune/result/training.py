"""Trains with a result: in this process by its strategy, or in others by its program."""

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from autotune.disk import put_texts
from autotune.errors import AutotuneError, UsageError
from autotune.program import render
from autotune.result.files import programs
from autotune.result.stored import ResultData
from autotune.strategies import strategy
from autotune.workload import Factory

AT_HAND = "functions_at_hand"
"""Module of functions that are shipped by value."""
LOADS = """\
from pathlib import Path

import cloudpickle

for each in Path(__file__).parent.glob("*.pickle"):
    globals()[each.stem] = cloudpickle.loads(each.read_bytes())
"""
CHUNK = 4096
"""Bytes of output that are passed on at once, at most."""


def strategy_of(result: ResultData) -> Any:
    """Return the `tf.distribute` strategy of a result, made by the lines of its train.py."""
    configuration = result.configuration
    if configuration.processes > 1:
        raise UsageError(
            f"This configuration trains in {configuration.processes} processes.",
            "Call result.fit(), or save the result and run launch.py.",
        )
    setup = strategy(configuration.strategy).setup(configuration, result.machine)
    names: dict[str, Any] = {each: import_module(each) for each in setup.modules}
    library = import_module("autotune.library.keras_training")
    names |= {"tf": import_module("tensorflow"), "logical_cpus": library.logical_cpus}
    names["REPLICAS"] = configuration.replicas_per_worker
    body = "\n    ".join(setup.lines)
    exec(f"def make_strategy():\n    {body}", names)  # noqa: S102 - the text is train.py's own
    try:
        return names["make_strategy"]()
    except RuntimeError as exc:
        raise UsageError(
            f"TensorFlow cannot make this strategy now: {exc}.",
            "Call result.strategy() before anything else that uses TensorFlow's devices.",
        ) from exc


def train(result: ResultData, words: list[str]) -> None:
    """Run the program of a result in the working folder, and show what it prints.

    Functions whose text lacks a value are those at hand, with the values that they had when they
    were handed over.
    """
    lacking = {role: result.workload.factories[role] for role in result.workload.missing}
    if not all(each.pickled for each in lacking.values()):
        missing = ", ".join(name for names in result.workload.missing.values() for name in names)
        raise UsageError(
            f"The program lacks values that could not be written down: {missing}.",
            "Fill them in at the top of its train.py, and run that.",
        )
    with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
        put_texts(Path(folder), programs(result))
        if lacking:
            put_texts(Path(folder), {"train.py": _by_value(result), f"{AT_HAND}.py": LOADS})
        for role, each in lacking.items():
            Path(folder, f"{role}.pickle").write_bytes(each.pickled)
        program = Path(folder, "launch.py" if result.launch else "train.py")
        status = _shown([sys.executable, str(program), *words])
    if status:
        raise AutotuneError(
            f"The training ended with exit code {status}.", "What it printed above says why."
        )


def _by_value(result: ResultData) -> str:
    """Return the program with functions that it unpickles in place of those that lack a value."""
    workload = result.workload
    imported = {
        role.removesuffix("_fn"): Factory(
            name=role, module=AT_HAND, arguments=workload.factories[role].arguments
        )
        for role in workload.missing
    }
    workload = workload.model_copy(update=imported)
    return render(result.configuration, workload, result.facts, result.machine).train


def _shown(command: list[str]) -> int:
    """Run a command, and return its exit code; a notebook shows only what Python writes."""
    # TensorFlow tells what it found when it starts; what goes wrong is an exception.
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        try:
            while chunk := os.read(process.stdout.fileno(), CHUNK):  # type: ignore[union-attr]
                sys.stdout.write(chunk.decode(errors="replace"))
                sys.stdout.flush()
        finally:
            process.terminate()  # Where it goes on, as after Ctrl-C in a notebook.
        return process.wait()
