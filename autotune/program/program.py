"""Renders a configuration and a workload into a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from autotune.axis import Place
from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.machine import Machine
from autotune.program.factories import global_names, preamble, sketch
from autotune.program.pipeline import (
    at_source,
    axis_lines,
    batch_of,
    functions_for,
    pipeline,
    reading,
    taken,
)
from autotune.program.text import WIDTH, Import, call, fill_in, imports_in, literal, sections
from autotune.program.words import UNKNOWN_STEPS, in_words
from autotune.stats.efficiency import WARM_UP_SHARE, learning_rate_factor, warm_up_examples
from autotune.strategies import Training, strategy, update_batch
from autotune.text import plural
from autotune.value import Value
from autotune.workload import (
    FitFacts,
    OwnStrategy,
    Script,
    Workload,
    WorkloadFacts,
    is_dotted_name,
)

_IMPORTS = imports_in("""
import argparse, ast, hashlib, json, math, multiprocessing, os, platform, random, re, sys, tempfile
import textwrap
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, cycle, islice
from pathlib import Path
from types import ModuleType
from typing import Any
import keras, numpy as np, tensorflow as tf
""")
"""What the templates use; a program imports those that it looks up."""


class Program(Value):
    """The text of a training program."""

    train: str
    """`train.py`: trains in one process, or as one worker of several."""
    launch: str | None = None
    """`launch.py`: starts all workers, on one machine or several; None where one process is
    enough."""


def render(
    configuration: Configuration,
    workload: Workload,
    facts: WorkloadFacts,
    machine: Machine,
    *,
    held: bool = False,
) -> Program:
    """Return the program that trains the workload as the configuration says.

    Every value in it is the `repr` of a number or a text, every name was seen to be one.

    Where it is `held`, every step gets the first batch again, from memory: not to train with, but
    to find out what the input takes.

    Raises:
        ConfigurationError: The strategy is unknown, no factory takes one of the arguments, or a
            name cannot be written into a program.
    """
    _check_arguments(configuration, facts)
    _check_names(configuration, workload)
    plan = strategy(configuration.strategy)
    training = plan.training(configuration, facts)
    setup = plan.setup(configuration, machine)
    apart = training == "coordinator"
    rate = _learning_rate(configuration, facts)
    batch = ["PER_REPLICA_BATCH", "workers"] if apart else [batch_of(configuration)]
    context = {
        **_configuration(configuration, facts),
        **_roles(configuration, machine),
        **in_words(configuration, workload, facts),
        "setup": setup,
        "fits": training == "fit",
        "taken": taken(configuration, facts),
        "pipeline": pipeline(configuration, workload.dataset, facts, apart=apart, held=held),
        **rate,
        "model": _model(configuration, workload, facts),
        "callbacks": _callbacks(workload, training, batch if rate["rate_factor"] else []),
        **_script(configuration, workload, facts),
    }
    # The names of the factories must not be those of the program.
    used = global_names(fill_in(f"{training}.py.j2", {**context, **sketch(workload)}))
    imports = {*_used(used), *(Import(name) for name in setup.modules)}
    train = fill_in(f"{training}.py.j2", {**context, **preamble(workload, used, imports)})
    alone = configuration.workers == 1
    return Program(train=train, launch=None if alone else fill_in("launch.py.j2", context))


def _used(names: Collection[str]) -> set[Import]:
    return {each for each in _IMPORTS if each.binds in names}


def _roles(configuration: Configuration, machine: Machine) -> dict[str, object]:
    kinds = [role.kind for role in strategy(configuration.strategy).roles(configuration, machine)]
    return {
        "kinds": {kind: kinds.count(kind) for kind in kinds},
        "total": len(kinds),
        "chief": "chief" in kinds,
        "gpus": bool(machine.gpus),
    }


def _check_arguments(configuration: Configuration, facts: WorkloadFacts) -> None:
    known = {*facts.model_takes, *facts.dataset_takes}
    for name in configuration.own_values():
        if name not in known:
            raise ConfigurationError(
                f"No factory declares the parameter {name!r}.",
                f"Declared are: {', '.join(sorted(known)) or 'none'}.",
            )


def _check_names(configuration: Configuration, workload: Workload) -> None:
    parameters = [name for name, _ in configuration.arguments]
    for factory in workload.factories.values():
        _check_dotted("factory", [factory.module, factory.name] if factory.module else [])
        parameters += [name for name, _ in factory.arguments]
    _check_dotted("parameter", parameters)


def _check_dotted(what: str, names: Iterable[str]) -> None:
    for name in names:
        if not is_dotted_name(name):
            raise ConfigurationError(
                f"{name!r} is not the name of a {what}.",
                "Use a Python name: letters, digits and underscores.",
            )


def _configuration(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    return {
        **dict(configuration),
        "several_workers": configuration.workers > 1,
        "source": at_source(configuration),
        "replicas": configuration.replicas,
        "batch": batch_of(configuration),
        "eager": _eager(facts),
        "start_lines": axis_lines(configuration, Place.START),
        "model_lines": axis_lines(configuration, Place.MODEL),
        "examples": facts.examples,
        "batch_callbacks": ", ".join(facts.batch_callbacks),
        "unknown_steps": UNKNOWN_STEPS,
    }


def _eager(facts: WorkloadFacts) -> str:
    if not facts.eager:
        return ""
    if facts.fit is None:
        return "model_fn asks for eager execution"
    at = f" in line {facts.fit.eager}" if facts.fit.eager else ""
    return f"The script asks for eager execution{at}"


def _learning_rate(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    """Return what a comparison of batches has assumed of the learning rate, if anything."""
    known = facts.learning
    factor = learning_rate_factor(known, update_batch(configuration)) if known else 1
    if known is None or factor == 1:
        return {"rate_factor": None}
    return {
        "rate_factor": f"{factor:.3g}",
        "warm_up": warm_up_examples(known),
        "warm_up_share": f"{WARM_UP_SHARE:.2g}",
        "usual_batch": known.batch,
        "scheduled": known.scheduled,
    }


def _script(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    if workload.script is None:
        return {"script": None, "sets_epochs": " --epochs 5"}
    fit = facts.fit or FitFacts()
    script = workload.script.model_copy(update={"fit": workload.script.fit or fit.line})
    whole, several = fit.only_batch is not None, configuration.workers > 1
    return {
        "script": script,
        "sets_epochs": "",
        "script_epochs": fit.epochs and plural(fit.epochs, "epoch"),
        "own": fit.own_strategy,
        "data": fit.data,
        "whole": whole,
        "own_batch": facts.usual_batch or Configuration().per_replica_batch,
        "functions": functions_for(
            fit.data, whole=whole, notebook=script.notebook, evaluates=several
        ),
        "reading": reading("call.x", configuration, shuffle="call.shuffle"),
    }


def script_reader(script: Script) -> str:
    """Return a program that offers to run a script up to its `fit`."""
    context: dict[str, object] = {
        "script": script,
        "own": OwnStrategy(),
        "data": None,
        "eager": "",
        "several_workers": False,
        "functions": functions_for(None, whole=True, notebook=script.notebook, evaluates=False),
        # An inspection times what the generator itself gives.
        "reading": "read_by_python(call.x, shuffle=call.shuffle, peeked=0)",
        "imports": "",
    }
    used = _used(global_names(fill_in("script.py.j2", context)))
    return fill_in("script.py.j2", {**context, "imports": sections(used)})


def _model(configuration: Configuration, workload: Workload, facts: WorkloadFacts) -> str:
    takes = facts.model_takes
    chosen = {name: value for name, value in configuration.own_values().items() if name in takes}
    values = {**dict(workload.model.arguments), **chosen}
    pairs = [(name, literal(value)) for name, value in values.items()]
    return call("model_fn", pairs, before="model = ", indent=8)


def _callbacks(workload: Workload, training: Training, scaled_for: list[str]) -> str:
    """Return the argument of `fit`, or of the list that the loop keeps.

    Where the learning rate is scaled, that is done for the batch in `scaled_for`.
    """
    before = "callbacks=" if training == "fit" else ""
    if not scaled_for:
        return before + _every_callback(workload, len(before), 8)
    arguments = [_every_callback(workload, 0, 12), *scaled_for]
    return call("scaled", [("", each) for each in arguments], before=before, indent=8)


def _every_callback(workload: Workload, before: int, indent: int) -> str:
    """Return the list of all callbacks, to stand at `indent` behind so many characters."""
    if workload.script:
        return "[*callbacks_of(call), *callbacks]"
    if workload.callbacks is None:
        return "list(callbacks)"
    pairs = [(name, literal(value)) for name, value in workload.callbacks.arguments]
    flat = f"[{call('*callbacks_fn', pairs, indent=-WIDTH)}, *callbacks]"
    if before + len(flat) < WIDTH - indent:
        return flat
    inner = " " * (indent + 4)
    own = call("*callbacks_fn", pairs, indent=indent + 4)
    return f"[\n{inner}{own},\n{inner}*callbacks,\n{' ' * indent}]"
