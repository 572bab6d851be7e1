"""Calls the factories, or runs a script, and inspects what they give, in a process of its own.

Every step is announced before it is taken, so that the tuner knows what blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from autotune.engine.child.factories import called, loaded
from autotune.engine.child.first_step import make_first_step
from autotune.engine.child.fit_call import batch_callbacks
from autotune.engine.child.inspect_dataset import Handed, InspectedDataset, offered
from autotune.engine.child.inspect_model import InspectedModel
from autotune.engine.child.member import Member, execute
from autotune.engine.child.once import OpenGenerators, ReadOnce
from autotune.engine.child.returned import BATCH, Taken, check_sizes, taken_from
from autotune.engine.child.script import fit_reached, other_backend
from autotune.engine.events import Step, describe
from autotune.errors import DatasetTooSmall, FactoryFailed, ScriptFailed, WorkloadError
from autotune.shared_values import Count

_OTHERS = (BATCH, BATCH + BATCH // 2, BATCH + BATCH // 4)
"""Batches that are made of a script's data, the first that does not divide those of its own."""


def inspect(member: Member) -> None:
    _answer(member, _script_facts if member.request["script"] else _facts)


def first_step(member: Member) -> None:
    """Have Keras make the first step of the `fit` that a script calls."""
    _answer(member, partial(make_first_step, inspect=partial(_of_script, member)))


def _answer(member: Member, facts: Callable[[Member], dict[str, Any] | None]) -> None:
    try:
        answer = {"facts": facts(member)}
    except WorkloadError as exc:
        answer = {"complaint": _as_json(exc)}
    member.finish(answer)


def _as_json(complaint: WorkloadError) -> dict[str, Any]:
    cause = complaint.__cause__
    return {
        "kind": type(complaint).__name__,
        "cause": complaint.cause,
        "next_step": complaint.advice,
        "lines": getattr(complaint, "lines", None),
        "error": describe(cause) if cause else None,
    }


def _facts(member: Member) -> dict[str, Any]:
    request, begun, generators = member.request, time.monotonic(), OpenGenerators()
    own, handed = request["offered"], Handed()
    member.announce(Step.IMPORTING)
    with generators.watching():
        dataset_fn = loaded("dataset", member)
    model_fn = loaded("model", member)
    dataset_fn.fill(offered(handed) | own)
    model_fn.fill(own)
    callbacks = _callbacks(member)

    member.announce(Step.CALLING_DATASET)
    with generators.watching():
        made = dataset_fn()
    calling = time.monotonic() - begun
    member.announce(Step.FIRST_EXAMPLE)
    batched = "batch_size" in dataset_fn.values
    taken = taken_from(made, batched=batched, unbatch=request["unbatch"])
    if request["examples"]:
        taken = taken._replace(examples=request["examples"])
    data = InspectedDataset(taken)
    data.read_first()
    member.announce(Step.CALLING_MODEL)
    begun = time.monotonic()
    model = InspectedModel(model_fn())
    calling += time.monotonic() - begun
    data.check_rank(model.ranks())
    member.announce(Step.TRYING)
    patience = request["seconds"] / 4
    model.train_on(data.few(model.static_batch), _not_fitting, patience)
    member.announce(Step.LOOKING)
    return {
        "model_takes": model_fn.parameters,
        "dataset_takes": dataset_fn.parameters,
        "usual_batch": taken.own_batch or dataset_fn.usual_batch or model.static_batch,
        "calling_seconds": calling,
        "batch_callbacks": batch_callbacks(callbacks),
        **model.facts(),
        **_passing(data.facts(patience), generators),
        "handed": handed.facts(patience) if "cache" in dataset_fn.values else (),
    }


def _script_facts(member: Member) -> dict[str, Any]:
    member.announce(Step.RUNNING)
    program = execute(member.folder.script, member.request["script"])
    begun, generators = time.monotonic(), OpenGenerators()
    with ExitStack() as stack:
        with generators.watching():
            of_fit = stack.enter_context(fit_reached(program, member.request["fit"]))
        of_fit["calling_seconds"] = time.monotonic() - begun
        return _passing(_of_script(member, program, of_fit), generators)


def _of_script(member: Member, program: ModuleType, of_fit: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of the workload of a script, in its copy of the working folder."""
    found = _inspected(member, program, of_fit)
    return {
        "dataset_takes": ("batch_size",),
        **found,
        **of_fit,
        **_examples(program.script.call.x, of_fit, found),
    }


def _passing(facts: dict[str, Any], generators: OpenGenerators) -> dict[str, Any]:
    """Return facts that say of what can be read once that no pass gives the same as another."""
    return {**facts, "repeatable": False} if generators.once else facts


def _examples(data: Any, of_fit: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many examples an epoch has, and what that number is.

    The batches of an epoch tell as many as they hold if all are full. The data may hold fewer, and
    has more than one epoch takes where the script asks for so many steps.
    """
    expected = {name: of_fit[name] for name in ("examples", "count")}
    read = {name: found[name] for name in expected}
    if isinstance(data, ReadOnce):
        read = {"examples": data.examples if data.ended else None, "count": Count.EXACT}
    elif read["count"] is Count.AT_LEAST:
        read["examples"] = None  # It did not come to the end.
    if read["examples"] is None:
        return expected
    more = expected["examples"] is not None and read["examples"] > expected["examples"]
    return expected if more and of_fit["fit"]["steps"] else read


def _inspected(member: Member, program: ModuleType, of_fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the model and the data that a script gives to its `fit`.

    Batches that are not of the script's own size are looked at first, because these are tuned. Each
    takes examples from several of the script's, so that it is seen whether these go together.
    """
    tried = partial(
        _inspected_in_batches, member, program, InspectedModel(program.script.call.model)
    )
    own = of_fit["usual_batch"]
    try:
        found = tried(next((each for each in _OTHERS if own % each), own + 1))
        if not (found["built_in_batch"] or found["carried_state"]):
            return found
    except DatasetTooSmall:
        return tried(own)
    except WorkloadError:
        pass  # Perhaps others cannot be made of its data, or trained with.
    found = tried(own, whole=True)
    of_fit["fit"]["only_batch"] = own
    return found


def _inspected_in_batches(
    member: Member, program: ModuleType, model: InspectedModel, size: int, **how: bool
) -> dict[str, Any]:
    patience = member.request["seconds"] / 4
    source = program.script.call.x
    once = source if isinstance(source, ReadOnce) else None
    try:
        member.announce(Step.FIRST_EXAMPLE)
        if once:
            once.begin()
        make = partial(called, "The data of fit", program.dataset_fn, batch_size=size, **how)
        made = make()
        batches = isinstance(source, tf.data.Dataset | keras.utils.PyDataset)
        every = make(every=True) if batches else None
        if how and batches:
            check_sizes(every, size, _of_other_sizes)
        taken = Taken(made, size, batched=True, returned={}, once=once is not None, every=every)
        data = InspectedDataset(taken)
        data.read_first()
        member.announce(Step.TRYING)
        model.train_on(data.few(), _not_training, patience)
        if once:
            once.keeps = False
        member.announce(Step.LOOKING)
        return {**model.facts(), **data.facts(patience)}
    except DatasetTooSmall as exc:
        raise DatasetTooSmall(
            f"The data of fit has no batch of {size} examples.", "Check its file paths and filters."
        ) from exc.__cause__
    except FactoryFailed as exc:
        raise other_backend(
            exc.cause,
            "Check that the script trains by itself, and that its fit is given arrays, tables, "
            "tensors, a tf.data.Dataset, a keras.utils.PyDataset or a generator.",
        ) from exc.__cause__


def _of_other_sizes(found: str) -> WorkloadError:
    return ScriptFailed(
        f"The batches of fit's data hold {found} examples, and no others can be made of them.",
        "Have it make batches of one size, or pad all examples to one length.",
    )


def _callbacks(member: Member) -> list[Any]:
    if not member.request["callbacks"]:
        return []
    callbacks_fn = loaded("callbacks", member)
    callbacks_fn.fill({})
    made = callbacks_fn()
    listed = isinstance(made, list | tuple)
    if not listed or not all(isinstance(each, keras.callbacks.Callback) for each in made):
        raise FactoryFailed(
            "callbacks_fn did not return a list of keras.callbacks.Callback.",
            "Return a list; it may be empty.",
        )
    return list(made)


def _not_fitting(cause: str) -> WorkloadError:
    return FactoryFailed(
        cause,
        "Check that the model's inputs, loss and metrics match the shapes and dtypes of the "
        "examples. A dataset holds single examples, not batches (unless dataset_fn declares "
        "batch_size), and with labels, unless the model has a train_step of its own or no compiled "
        "loss.",
    )


def _not_training(cause: str) -> WorkloadError:
    return other_backend(
        cause,
        "Check that the script trains by itself. Here a step of it was tried without a graph "
        "(run_eagerly=True).",
    )
