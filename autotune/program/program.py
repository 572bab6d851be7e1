"""Renders a configuration and a workload into a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from autotune.axis import AxisRole, Place
from autotune.config import Configuration, axes, axes_of
from autotune.errors import ConfigurationError
from autotune.machine import Machine
from autotune.program.epoch import UNKNOWN_STEPS, epoch_in_words
from autotune.program.factories import global_names, preamble, sketch
from autotune.program.imports import Import, sections
from autotune.program.pipeline import at_source, axis_lines, pipeline
from autotune.program.returned import functions_for, reading, taken
from autotune.program.structure import Placeholders, check_names, check_structure
from autotune.program.text import WIDTH, call, count, fill_in, literal
from autotune.stats.efficiency import WARM_UP_SHARE, learning_rate_factor, warm_up_examples
from autotune.strategies import Setup, Training, strategy, update_batch
from autotune.value import Scalar, Value
from autotune.workload import (
    Factory,
    FitData,
    OwnStrategy,
    Script,
    Workload,
    WorkloadFacts,
)

PLAIN = r"[\w.+:/ -]*"
"""What may stand in a docstring, because it cannot end one."""
_IMPORTS = (
    *(
        Import(name)
        for name in ("argparse", "ast", "hashlib", "keras", "os", "platform", "random", "sys")
    ),
    Import("multiprocessing"),
    *(Import("concurrent.futures", name) for name in ("Future", "ThreadPoolExecutor")),
    *(Import("numpy", "", "np"), Import("tempfile"), Import("tensorflow", "", "tf")),
    Import("typing", "Any"),
    *(Import("collections.abc", name) for name in ("Callable", "Iterator", "Sequence")),
    *(Import("itertools", name) for name in ("chain", "cycle", "islice")),
    *(Import("collections", "deque"), Import("functools", "cache"), Import("functools", "partial")),
    Import("pathlib", "Path"),
    *(
        Import("dataclasses", "dataclass"),
        Import("json"),
        Import("math"),
        Import("re"),
        Import("textwrap"),
        Import("types", "ModuleType"),
    ),
)
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

    Args:
        configuration: How it is distributed and fed.
        workload: The factories.
        facts: What they give.
        machine: What it runs on.
        held: Whether every step gets the first batch again, from memory: not to train with, but
            to find out what the input takes.

    Raises:
        ConfigurationError: The strategy is unknown, no factory takes one of the arguments, or a
            value or name cannot be written into a program.
    """
    _check_arguments(configuration, facts)
    check_names(configuration, workload)
    placeholders = Placeholders()
    plain = _written(
        placeholders.of_configuration(configuration),
        placeholders.of_workload(workload),
        facts,
        machine,
        held=held,
    )
    program = _written(configuration, workload, facts, machine, held=held)
    check_structure(program.train, plain.train, placeholders.values)
    check_structure(program.launch, plain.launch, placeholders.values)
    return program


def _written(
    configuration: Configuration,
    workload: Workload,
    facts: WorkloadFacts,
    machine: Machine,
    *,
    held: bool,
) -> Program:
    """Return the program, unchecked."""
    plan = strategy(configuration.strategy)
    training = plan.training(configuration, facts)
    setup = plan.setup(configuration, machine)
    context = {
        **_configuration(configuration, facts),
        **_roles(configuration, machine),
        **_about(configuration, workload, facts),
        "setup": setup,
        "fits": training == "fit",
        "taken": taken(configuration, facts),
        "pipeline": pipeline(
            configuration,
            workload.dataset,
            facts,
            apart=training == "coordinator",
            held=held,
        ),
        **_learning_rate(configuration, facts),
        "model": _model(configuration, workload, facts),
        "callbacks": _callbacks(workload, training, _scaled_for(configuration, facts, training)),
        **_script(configuration, workload, facts),
    }
    train = _with_factories(f"{training}.py.j2", context, workload, setup)
    if configuration.workers == 1:
        return Program(train=train)
    return Program(train=train, launch=fill_in("launch.py.j2", context))


def _with_factories(
    template: str, context: Mapping[str, object], workload: Workload, setup: Setup
) -> str:
    """Return the program with the factories, whose names must not be those of the program."""
    bare = fill_in(template, {**context, **sketch(workload)})
    taken = global_names(bare)
    imports = {each for each in _IMPORTS if each.binds in taken}
    imports |= {Import(name) for name in setup.modules}
    return fill_in(template, {**context, **preamble(workload, taken, imports)})


def _roles(configuration: Configuration, machine: Machine) -> dict[str, object]:
    """Return what starts the processes: how many of each kind, in the order of their start."""
    kinds = [role.kind for role in strategy(configuration.strategy).roles(configuration, machine)]
    return {
        "kinds": {kind: kinds.count(kind) for kind in kinds},
        "total": len(kinds),
        "processes": count(len(kinds), "process", "processes"),
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


def _configuration(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    gang = configuration.workers > 1
    return {
        "gang": gang,
        "source": at_source(configuration),
        "workers": configuration.workers,
        "replicas": configuration.replicas,
        "replicas_per_worker": configuration.replicas_per_worker,
        "per_replica_batch": configuration.per_replica_batch,
        "batch": _batch(configuration),
        "steps_per_execution": configuration.steps_per_execution,
        "xla": configuration.xla,
        "run_eagerly": configuration.run_eagerly,
        "eager": _eager(facts),
        "threads": configuration.threads_per_process,
        "start_lines": axis_lines(configuration, Place.START),
        "model_lines": axis_lines(configuration, Place.MODEL),
        "examples": facts.examples,
        "batch_callbacks": ", ".join(facts.batch_callbacks),
        "unknown_steps": UNKNOWN_STEPS,
    }


def _eager(facts: WorkloadFacts) -> str:
    """Return who asks for eager execution; empty where nobody does."""
    if not facts.eager:
        return ""
    if facts.fit is None:
        return "model_fn asks for eager execution"
    at = f" in line {facts.fit.eager}" if facts.fit.eager else ""
    return f"The script asks for eager execution{at}"


def _batch(configuration: Configuration) -> str:
    """Return how a program calls the examples of a step."""
    if configuration.workers > 1:
        return "global_batch"
    return "GLOBAL_BATCH" if configuration.distributed else "PER_REPLICA_BATCH"


def _learning_rate(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    """Return what a comparison of batches has assumed of the learning rate, if anything."""
    factor, known = _rate_factor(configuration, facts), facts.learning
    if known is None or factor is None:
        return {"rate_factor": None}
    return {
        "rate_factor": factor,
        "warm_up": warm_up_examples(known),
        "warm_up_share": f"{WARM_UP_SHARE:.2g}",
        "usual_batch": known.batch,
        "scheduled": known.scheduled,
    }


def _rate_factor(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return the factor on the learning rate as it is written; None where it stays as it is."""
    if facts.learning is None:
        return None
    factor = learning_rate_factor(facts.learning, update_batch(configuration))
    return f"{factor:.3g}" if factor != 1 else None


def _scaled_for(
    configuration: Configuration, facts: WorkloadFacts, training: Training
) -> list[str]:
    """Return what is told to the function that scales the rate; nothing where it stays."""
    if _rate_factor(configuration, facts) is None:
        return []
    if training == "coordinator":
        return ["PER_REPLICA_BATCH", "workers"]
    return [_batch(configuration)]


def _about(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    return {
        "about": _purpose(workload),
        "words": [*in_words(configuration), *filter(None, [epoch_in_words(configuration, facts)])],
        "own_values": own_values(configuration),
    }


def _purpose(workload: Workload) -> str:
    if workload.script:
        return f"Run {_plain(workload.script.file)} with its fit as it was tuned."
    model, dataset = _name(workload.model), _name(workload.dataset)
    return f"Train the model of {model} on the examples of {dataset}."


def _plain(text: str) -> str:
    return text if re.fullmatch(PLAIN, text) else "the script"


def _script(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    """Return the script, and where the number of epochs and what is shown come from."""
    if workload.script is None:
        of_factories = {"epochs": "args.epochs", "verbose": "args.verbose"}
        return {"script": None, "sets_epochs": " --epochs 5", **of_factories}
    script = workload.script.model_copy(
        update={"fit": workload.script.fit or (facts.fit and facts.fit.line)}
    )
    data = facts.fit.data if facts.fit else None
    whole = facts.fit is not None and facts.fit.only_batch is not None
    return {
        "script": script,
        "sets_epochs": "",
        "script_epochs": facts.fit and facts.fit.epochs and count(facts.fit.epochs, "epoch"),
        "own": facts.fit and facts.fit.own_strategy,
        "data": data,
        "whole": whole,
        "lengths": {
            FitData.DATASET: "int(call.x.cardinality())",
            FitData.PY_DATASET: "len(call.x)",
            FitData.GENERATOR: "0",
        },
        "own_batch": facts.usual_batch or Configuration().per_replica_batch,
        "functions": functions_for(
            data, whole=whole, notebook=script.notebook, evaluates=configuration.workers > 1
        ),
        "reading": reading("call.x", configuration, shuffle="call.shuffle"),
        "epochs": "epochs",
        "verbose": "verbose",
    }


def script_reader(script: Script) -> str:
    """Return a program that offers to run a script up to its `fit`."""
    context: dict[str, object] = {
        "script": script,
        "own": OwnStrategy(),
        "data": None,
        "gang": False,
        "functions": functions_for(None, whole=True, notebook=script.notebook, evaluates=False),
        "reading": reading("call.x", Configuration(), shuffle="call.shuffle"),
        "imports": "",
    }
    taken = global_names(fill_in("script.py.j2", context))
    found = {each for each in _IMPORTS if each.binds in taken}
    return fill_in("script.py.j2", {**context, "imports": sections(found)})


def _name(factory: Factory) -> str:
    """Return how the reader of the program knows a factory."""
    if factory.module:
        return factory.short_name
    last = factory.name.rpartition(".")[2]
    return last if last.isidentifier() else "a lambda"


def _model(configuration: Configuration, workload: Workload, facts: WorkloadFacts) -> str:
    takes = facts.model_takes
    chosen = {name: value for name, value in configuration.own_values().items() if name in takes}
    values = {**dict(workload.model.arguments), **chosen}
    pairs = [(name, literal(value)) for name, value in values.items()]
    return call("model_fn", pairs, before="model = ", indent=8)


def _callbacks(workload: Workload, training: Training, scaled_for: list[str]) -> str:
    """Return the argument of `fit`, or of the list that the loop keeps."""
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


def in_words(configuration: Configuration) -> list[str]:
    """Return a line for the strategy, one for the batch, and one per axis that was changed."""
    return [*_distribution(configuration), *_settings(configuration)]


def own_values(configuration: Configuration) -> list[str]:
    """Return a comment for each axis of the user's own, cut to the width."""
    lines = [f"# - {name} = {literal(value)}" for name, value in configuration.own_values().items()]
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines]


def _distribution(configuration: Configuration) -> Iterator[str]:
    title = strategy(configuration.strategy).title
    workers, each = configuration.workers, configuration.replicas_per_worker
    batch = count(configuration.per_replica_batch, "example")
    if not configuration.distributed:
        yield f"{title}, {batch} per step"
        return
    replicas = count(each, "replica")
    place = f"{count(workers, 'worker')} with {replicas} each" if workers > 1 else replicas
    yield f"{title}, {place}"
    if strategy(configuration.strategy).asynchronous:
        yield f"variables on {count(configuration.servers, 'parameter server')}"
        yield f"{batch} per step of a worker, asynchronous"
    else:
        yield f"{batch} per replica, so {configuration.global_batch:,} per step"
    if configuration.reduction != "default":
        yield f"gradients reduced by {literal(configuration.reduction)}"


def _settings(configuration: Configuration) -> Iterator[str]:
    """Yield a line for each axis of the step, of what is computed, and of the input."""
    changed = configuration.changed()
    shards = [_SHARDS[configuration.shard_policy]] if configuration.workers > 1 else []
    for role in (AxisRole.STEP, AxisRole.NUMERICS, AxisRole.INPUT):
        yield from shards if role is AxisRole.INPUT else ()
        for name in axes_of(role):
            if name in changed and axes()[name].words:
                yield _in_words(name, changed[name])


def _in_words(name: str, value: Scalar) -> str:
    plain = re.fullmatch(PLAIN, str(value))
    return axes()[name].in_words(name, value) if plain else f"{name} is set"


_SHARDS = {
    "auto": "examples sharded by tf.data (auto)",
    "data": "every worker reads all examples and keeps its shard",
    "file": "input files sharded between the workers",
    "off": "every worker reads all examples",
    "source": "each worker reads only its own shard",
}
