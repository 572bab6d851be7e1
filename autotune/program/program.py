"""Renders a configuration and a workload into a program."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from autotune.axis import Place
from autotune.base import Scalar, Value
from autotune.config import Configuration, axes
from autotune.errors import ConfigurationError
from autotune.learning import Scaling
from autotune.machine import Machine
from autotune.program.factories import global_names, preamble
from autotune.program.text import WIDTH, Import, call, fill_in, imports_in, literal, sections
from autotune.shared_values import Count
from autotune.strategies import Training, in_short, strategy, weighed_batch
from autotune.text import plural
from autotune.workload import (
    Factory,
    FitFacts,
    Returned,
    Script,
    Workload,
    WorkloadFacts,
    is_dotted_name,
)

_IMPORTS = imports_in("""
import math
import keras, numpy as np, tensorflow as tf
from keras_input import batches_of, full_batches, read_by_python, validation_of
from keras_notebook import code_of_notebook
from keras_script import Script
from keras_training import cache_in_file, callbacks_of, in_calls, logical_cpus, parse_arguments
from keras_training import run, scaled, spread_random_streams
""")
"""What the templates use; a program imports those that it looks up."""
_OF_TRAINING: Mapping[Training, Sequence[Import]] = {
    "fit": imports_in("from keras_training import save"),
    "loop": imports_in("""
from keras_multiworker import Checkpoints, check_same_software, evaluate, fit, predict, save
from keras_multiworker import warn_of_other_size
"""),
    "coordinator": imports_in("""
from keras_servers import fit, serve_unless_chief
from keras_training import save
"""),
}
CACHES = "autotune-cache-"
"""How the names of the folders begin that hold examples in files; `keras_training` makes them."""
_CONTEXT = "input_context"
_WHOLE = "tf.distribute.InputContext()"
_CACHES = {
    "off": "lambda dataset: dataset",
    "memory": "tf.data.Dataset.cache",
    "file": "cache_in_file",
}
"""The function that the factory gets for its parameter `cache`."""
_CACHED = {"off": "dataset", "memory": "dataset.cache()", "file": "cache_in_file(dataset)"}
"""What stands for the dataset behind a factory that has no such parameter."""
_SHARDING = {
    "auto": "tf.data shards the examples between the workers, by file where it can.",
    "data": "Every worker runs this whole pipeline, and tf.data keeps its shard of the examples.",
    "file": "tf.data shards the files between the workers, so each reads only its own.",
    "off": "Every worker reads all examples.",
}
EPOCHS = 10
"""Of a program whose user has named no number."""


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
    _check(configuration, workload, facts)
    plan = strategy(configuration.strategy)
    training = plan.training(configuration, facts)
    setup = plan.setup(configuration, machine)
    kinds = [role.kind for role in plan.roles(configuration, machine)]
    apart = training == "coordinator"
    scaled = scaling(configuration, facts)
    several = configuration.workers > 1
    steps = _steps(configuration, workload, facts, apart=apart)
    whole = f"math.ceil({steps})" if "/" in steps else steps
    context = {
        **_configuration(configuration, facts),
        "kinds": {kind: kinds.count(kind) for kind in kinds},
        "total": len(kinds),
        "chief": "chief" in kinds,
        "gpus": bool(machine.gpus),
        **in_words(configuration, workload, facts),
        "setup": setup,
        "training": training,
        "taken": taken(configuration, facts, apart=apart),
        "pipeline": pipeline(configuration, workload.dataset, facts, apart=apart, held=held),
        "validation": validation(configuration, workload.dataset, facts, apart=apart),
        "scaled": scaled,
        "arguments": _arguments(configuration, workload, facts, steps),
        "model": _model(configuration, workload, facts),
        "steps": whole if workload.script or several else steps,
        **_callbacks(configuration, workload, scaled, training),
        **_script(configuration, workload, facts),
    }
    # The names of the factories must not be those of the program.
    used = global_names(fill_in("train.py.j2", {**context, **preamble({})}))
    imports = {*_used(used, training), *(Import(name) for name in setup.modules)}
    train = fill_in("train.py.j2", {**context, **preamble(workload.factories, used, imports)})
    return Program(train=train, launch=fill_in("launch.py.j2", context) if several else None)


def _used(names: Collection[str], training: Training = "fit") -> set[Import]:
    return {each for each in (*_IMPORTS, *_OF_TRAINING[training]) if each.binds in names}


def share_of_epochs(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> float:
    """Return how many times as many epochs the program makes as the user's own settings."""
    return epochs_of(configuration, workload, facts) / _usual_epochs(workload, facts)


def epochs_of(configuration: Configuration, workload: Workload, facts: WorkloadFacts) -> int:
    """Return the epochs that the program makes by itself: more where its batch needs more."""
    return math.ceil(_usual_epochs(workload, facts) * scaling(configuration, facts).epochs)


def _usual_epochs(workload: Workload, facts: WorkloadFacts) -> int:
    """Return the epochs by the own settings; those of one `fit` where a script calls it in a loop.

    A number of the user's counts for all calls in a loop together.
    """
    asked = None if facts.fit and facts.fit.loop else workload.epochs
    return asked or (facts.fit and facts.fit.epochs) or workload.epochs or EPOCHS


def scaling(configuration: Configuration, facts: WorkloadFacts) -> Scaling:
    """Return what the program changes for its batch: the learning rate, and the epochs."""
    known = facts.learning
    return known.scaling(weighed_batch(configuration, known.batch)) if known else Scaling()


def _arguments(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts, steps: str
) -> str:
    script, given = workload.script, ["argv", "__file__", "__doc__"]
    # Each `fit` of a script has its own epochs, where no number was asked for.
    if not script or not (workload.epochs is None or (facts.fit and facts.fit.loop)):
        given.append(f"epochs={epochs_of(configuration, workload, facts)}")
    if script:
        given.append("verbose=None")
    elif configuration.workers == 1:
        given.append(f"steps={steps}")
    return call("parse_arguments", given, before="args = ", indent=4)


def _steps(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts, *, apart: bool
) -> str:
    """Return how many batches the examples make; the last one is filled up from the next epoch."""
    if fixed_steps(configuration, facts):
        return "STEPS_PER_EPOCH"
    of_call = workload.script and facts.fit and facts.fit.data
    batch = "(PER_REPLICA_BATCH * workers)" if apart else batch_of(configuration)
    return f"{'examples_of(call)' if of_call else 'EXAMPLES'} / {batch}"


def _check(configuration: Configuration, workload: Workload, facts: WorkloadFacts) -> None:
    known = {*facts.model_takes, *facts.dataset_takes}
    for name in configuration.own_values():
        if name not in known:
            raise ConfigurationError(
                f"No factory declares the parameter {name!r}.",
                f"Declared are: {', '.join(sorted(known)) or 'none'}.",
            )
    factories = workload.factories.values()
    values = chain(configuration.arguments, *(each.arguments for each in factories))
    names = [("factory", name) for it in factories if it.module for name in (it.module, it.name)]
    for what, name in [*names, *(("parameter", name) for name, _ in values)]:
        if not is_dotted_name(name):
            raise ConfigurationError(
                f"{name!r} is not the name of a {what}.",
                "Use a Python name: letters, digits and underscores.",
            )


def _configuration(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    eager = "model_fn asks for eager execution" if facts.eager else ""
    if facts.eager and facts.fit:
        at = f" in line {facts.fit.eager}" if facts.fit.eager else ""
        eager = f"The script asks for eager execution{at}"
    return {
        **dict(configuration),
        "several_workers": configuration.workers > 1,
        "distributed": configuration.distributed,
        "source": at_source(configuration),
        "replicas": configuration.replicas,
        "eager": eager,
        "start_lines": axis_lines(configuration, Place.START),
        "examples": facts.examples,
        "batch_callbacks": ", ".join(facts.batch_callbacks),
        "fixed_steps": fixed_steps(configuration, facts),
    }


def _script(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    if workload.script is None:
        return {"script": None, "sets_epochs": " --epochs 20"}
    fit = facts.fit or FitFacts()
    script = workload.script.model_copy(update={"fit": workload.script.fit or fit.line})
    return {
        "script": script,
        "sets_epochs": "",
        "script_epochs": _epochs_in_words(configuration, workload, facts),
        "make_script": _make_script(
            script, fit.own_strategy.replicas if fit.own_strategy else None, fit.of
        ),
        "data": fit.data,
        "whole": fit.only_batch is not None,
        "own_batch": facts.usual_batch or Configuration().per_replica_batch,
        "reading": reading("call.x", configuration, shuffle="call.shuffle"),
    }


def _epochs_in_words(configuration: Configuration, workload: Workload, facts: WorkloadFacts) -> str:
    if not workload.epochs and not (facts.fit and facts.fit.epochs):
        return ""
    asked = workload.epochs and not (facts.fit and facts.fit.loop)
    why = "as was asked for" if asked else "as the script does"
    if scaling(configuration, facts).epochs != 1:
        why = "to reach the loss of your own batch"
    return f"{plural(epochs_of(configuration, workload, facts), 'epoch')}, {why}"


def _make_script(script: Script, replicas: int | None, of: str = "") -> str:
    given = ["__file__", literal(script.path)]
    given += [f"[{', '.join(map(literal, script.arguments))}]"] * bool(script.arguments)
    given += [f"fit={script.fit}"] * (script.fit is not None)
    given += [f"of={literal(of)}"] * bool(of and script.fit is not None)
    given += [f"replicas={replicas}"] * bool(replicas)
    given += ["read=code_of_notebook"] * script.notebook
    return call("Script", given, before="script = ")


def script_reader(script: Script) -> str:
    """Return a program that offers to run a script up to its `fit`."""
    context: dict[str, object] = {
        "make_script": _make_script(script, 1),
        "data": None,
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
    given = [f"{name}={literal(value)}" for name, value in values.items()]
    indent = 8 if configuration.distributed else 4
    return call("model_fn", given, before="model = ", indent=indent)


def _callbacks(
    configuration: Configuration, workload: Workload, by: Scaling, training: Training
) -> dict[str, object]:
    """Return the callbacks as an argument of `fit`, and the lines before it that make them."""
    saves = ", Checkpoints" if training == "loop" and configuration.workers > 1 else ""
    turn = ", turn=len(script.calls)" if workload.script else ""
    asked = f"*callbacks_of(args{saves}{turn})"
    given = [asked, "*callbacks"]
    if workload.script:
        given = ["*call.all_callbacks(validates=args.validation)", *given]
    elif workload.callbacks is not None:
        fixed = [f"{name}={literal(value)}" for name, value in workload.callbacks.arguments]
        given = [call("*callbacks_fn", fixed, indent=8), *given]
    deeper, several = 4 if workload.script else 0, configuration.steps_per_execution > 1
    changes = []
    if by.rate != 1:
        batch = "PER_REPLICA_BATCH" if training == "coordinator" else batch_of(configuration)
        examples, share = by.warm_up
        rest = ["LEARNING_RATE_FACTOR", f"batch={batch}", f"usual_batch={by.own_batch}"]
        rest += [f"warm_up=({examples}, {share:.2g})"]
        rest += ["steps_per_call=STEPS_PER_EXECUTION"] * several
        rest += ["workers=workers"] * (training == "coordinator")
        changes.append(("scaled", rest))
    if several and training == "fit":
        of = "" if workload.script else "args."
        steps = "steps" if workload.script else "args.steps_per_epoch"
        changes.append(("in_calls", [steps, f"epochs={of}epochs", f"verbose={of}verbose"]))
    if not changes:
        return {"before_fit": [], "callbacks": _listed("callbacks=", given, 8, deeper)}
    lines = [_listed("every = ", given, 4, deeper)]
    for function, rest in changes:
        arguments = ["model", "every", *rest]
        lines.append(call(function, arguments, before="every = ", indent=4, deeper=deeper))
    return {"before_fit": lines, "callbacks": "callbacks=every"}


def _listed(before: str, items: Sequence[str], indent: int, deeper: int) -> str:
    """Return a list, on one line if it fits, to stand at `indent`, and then so much deeper."""
    flat = f"{before}[{', '.join(items)}]"
    if "\n" not in flat and deeper + indent + len(flat) < WIDTH:
        return flat
    inner = " " * (indent + 4)
    lines = "".join(f"{inner}{each},\n" for each in items)
    return f"{before}[\n{lines}{' ' * indent}]"


def pipeline(
    configuration: Configuration,
    dataset: Factory,
    facts: WorkloadFacts,
    *,
    apart: bool,
    held: bool,
) -> dict[str, object]:
    """Return what the template of `make_dataset()` needs to know."""
    several_workers, distributed = configuration.workers > 1, configuration.distributed
    source = at_source(configuration)
    whole = distributed and not source and not apart
    batch = batch_of(configuration) if whole else _of_replica(configuration)
    of_what = "global batches" if whole else "per-replica batches from this worker's shard"
    of_workers = "worker, workers" if apart else "global_batch"
    in_workers = "workers" if apart else "global_batch // PER_REPLICA_BATCH"
    takes = {*facts.dataset_takes} - {*dict(dataset.arguments)}
    offered = {*facts.dataset_takes, *(["batch_size"] * facts.batched)}
    given = _given(configuration, dataset, facts, offered, batch)
    factory = "dataset_fn" if facts.returned.plain else "data_fn"
    handed = configuration.cache == "off" or "cache" in takes
    cached = _CACHED["off" if handed else configuration.cache]
    shuffle = 0 if handed else facts.shuffle_buffer
    stages = [
        ".repeat()",
        "" if facts.batched else f".batch({batch}, drop_remainder=True)",
        ".take(1).cache().repeat()" if held else "",
        f".prefetch({_automatic(configuration.prefetch)})" if configuration.prefetch else "",
    ]
    dataset_so_far = "dataset" if shuffle else cached
    lines = [f"return {dataset_so_far}{''.join(stages)}"]
    if 4 + len(lines[0]) > WIDTH:
        lines = [f"dataset = {dataset_so_far}{''.join(stages[:-1])}", f"return dataset{stages[-1]}"]
    return {
        "apart": apart,
        "held": held,
        "parameter": _CONTEXT if source else of_workers if several_workers else "",
        "of_what": of_what if distributed else "batches",
        "lone_context": "input_context" in takes and not source,
        "in_sync": in_workers if several_workers else "REPLICAS" if distributed else "1",
        "examples": call(factory, given, before="dataset = ", indent=4),
        "policy": configuration.shard_policy,
        "sharding": _SHARDING.get(configuration.shard_policy, ""),
        "option_lines": axis_lines(configuration, Place.OPTIONS),
        "cached": cached,
        "shuffle": shuffle,
        "last_lines": lines,
    }


def batch_of(configuration: Configuration) -> str:
    """Return how a program calls the examples of a step."""
    if configuration.workers > 1:
        return "global_batch"
    return "GLOBAL_BATCH" if configuration.distributed else _of_replica(configuration)


def _of_replica(configuration: Configuration) -> str:
    return "PER_REPLICA_BATCH" if configuration.distributed else "BATCH_SIZE"


def at_source(configuration: Configuration) -> bool:
    """Whether each worker has a pipeline of its own that reads only its share."""
    return configuration.workers > 1 and configuration.shard_policy == "source"


def axis_lines(configuration: Configuration, place: Place) -> list[str]:
    """Return the lines that a place holds for the axes that are away from their defaults."""
    changed, found = configuration.changed(), []
    for name, line in ((name, axis.line) for name, axis in axes().items() if name in changed):
        if line is not None and line.place is place:
            found += [f"# {line.comment}"] * bool(line.comment)
            found.append(line.code.replace("{value}", literal(changed[name])))
    return found


def _given(
    configuration: Configuration,
    dataset: Factory,
    facts: WorkloadFacts,
    takes: Collection[str],
    batch: str,
    context: str = _CONTEXT,
) -> list[str]:
    """Return the arguments of a call: what it takes of what is offered, the fixed and the tuned."""
    offered = {
        "input_context": context,
        "batch_size": batch,
        "cache": _CACHES[configuration.cache],
        **{a.needs_parameter: _automatic(configuration[n]) for n, a in axes().items()},
    }
    values = {name: text for name, text in offered.items() if name and name in takes}
    values |= {name: literal(value) for name, value in dataset.arguments}
    own = configuration.own_values()
    values |= {name: literal(own[name]) for name in own if name in facts.dataset_takes}
    return [f"{name}={text}" for name, text in values.items()]


def _automatic(value: Scalar) -> str:
    return "tf.data.AUTOTUNE" if value == "auto" else literal(value)


def taken(configuration: Configuration, facts: WorkloadFacts, *, apart: bool) -> dict[str, object]:
    returned, keeps = facts.returned, _keeps_validation(configuration, facts, apart=apart)
    sized = returned.arrays or returned.by_python or returned.uneven
    passes = sized and "batch_size" in facts.dataset_takes
    made = f"dataset_fn({'batch_size=batch_size, ' if passes else ''}**options)"
    train = f"{made}[0]" if returned.beside else made
    return {
        "plain": returned.plain,
        "parameters": "*, batch_size, **options" if sized else "**options",
        "call": made,
        "keeps": keeps,
        "expression": _as_dataset("train" if keeps else train, configuration, returned),
    }


def _keeps_validation(configuration: Configuration, facts: WorkloadFacts, *, apart: bool) -> bool:
    """Whether one call of the factory gives both parts of its data, which it may divide by chance.

    Where each worker makes a share of its own, only another call gives all that validates.
    """
    return facts.returned.beside and not apart and not at_source(configuration)


def _as_dataset(text: str, configuration: Configuration, returned: Returned) -> str:
    if returned.arrays:
        text = f"batches_of({'*' if returned.arguments else ''}{text}, batch_size=batch_size)"
    if returned.by_python:
        text = f"{reading(text, configuration)}.rebatch(batch_size, drop_remainder=True)"
    if returned.unbatched:
        text = f"{text}.unbatch()"
    return f"full_batches({text}, batch_size)" if returned.uneven else text


def reading(source: str, configuration: Configuration, *, shuffle: str = "") -> str:
    workers = configuration.py_dataset_workers
    arguments = [source, *([f"shuffle={shuffle}"] if shuffle else [])]
    return f"read_by_python({', '.join(arguments + [f'workers={workers}'] * bool(workers))})"


def validation(
    configuration: Configuration, dataset: Factory, facts: WorkloadFacts, *, apart: bool
) -> str:
    """Return the lines that make what a program validates with; empty where there is nothing."""
    returned = facts.returned
    if not returned.beside:
        return ""
    batch = _of_replica(configuration)
    batched = facts.batched or returned.unbatched
    if _keeps_validation(configuration, facts, apart=apart):
        return f"return validation_of(validation[0], {batch}, batched={batched})"
    usual = Configuration(arguments=configuration.arguments)
    given = _given(usual, dataset, facts, facts.dataset_takes, batch, _WHOLE)
    made = call("dataset_fn", given, before="data = ", indent=4)
    return f"{made}\n    return validation_of(data[1], {batch}, batched={batched})"


PLAIN = r"[\w.+:/ -]*"
"""What may stand in a docstring, because it cannot end one."""
UNKNOWN_STEPS = 1000
"""Steps of an epoch where nobody knows how many examples there are."""


def fixed_steps(configuration: Configuration, facts: WorkloadFacts) -> int | None:
    """Return the steps of an epoch that do not follow from its examples; None where they do.

    At the script's own batch they are as many as it makes, whatever its batches hold.
    """
    if facts.examples is None:
        return UNKNOWN_STEPS
    own, batch = facts.fit.batches if facts.fit else None, configuration.global_batch
    follows = own is None or batch != facts.usual_batch or math.ceil(facts.examples / batch) == own
    return None if follows else own


def epoch_in_words(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return in what an epoch of the program is not one of `fit`; None where it is one."""
    fixed, batch = fixed_steps(configuration, facts), configuration.global_batch
    if facts.examples is None:
        return (
            f"{plural(UNKNOWN_STEPS, 'step')} an epoch, because the number of examples is not "
            "known: --steps-per-epoch sets another"
        )
    steps = fixed or math.ceil(facts.examples / batch)
    said, borrowed = f"{plural(steps, 'step')} an epoch", steps * batch - facts.examples
    if fixed:
        return f"{said}, as the script makes, all with full batches where some of its hold fewer"
    if facts.count is not Count.EXACT:
        return f"{said} of {facts.how_many}, all with full batches"
    if borrowed and facts.batched and not facts.arrays:
        return (
            f"{said}, all with full batches; examples at the end of the data that fill none are "
            "left out"
        )
    if borrowed:
        return (
            f"{said}, the last of which takes {plural(borrowed, 'example')} of the next epoch, "
            "because all batches are full"
        )
    return None


def in_words(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    # Values for the factories stand in their calls; a text among them might end the docstring.
    short = in_short(configuration.model_copy(update={"arguments": ()}))
    text = "; ".join(filter(None, [short, epoch_in_words(configuration, facts)]))
    if workload.script:
        file = workload.script.file
        name = f" {file}" if re.fullmatch(PLAIN, file) else ""
        about = f"Run your script{name} with its fit as it was tuned."
    else:
        model, dataset = _name(workload.model), _name(workload.dataset)
        about = f"Train the model of {model} on the examples of {dataset}."
    return {"about": about, "words": f"{text[0].upper()}{text[1:]}."}


def _name(factory: Factory) -> str:
    if factory.module:
        return factory.short_name
    last = factory.name.rpartition(".")[2]
    return last if last.isidentifier() else "a lambda"
