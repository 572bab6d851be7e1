"""Calls the factories and inspects what they give, in a process of its own.

Every step is announced before it is taken, so that the tuner knows what blocks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import keras
import numpy as np
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child.batch_bound import (
    accumulated_steps,
    carried_state,
    first_rows,
    rows_of,
    stateful_layer,
    static_batch,
)
from autotune.engine.child.callback_times import batch_callbacks
from autotune.engine.child.inspect_dataset import Handed, InspectedDataset, offered
from autotune.engine.child.once import OpenGenerators, ReadOnce
from autotune.engine.child.program import Call, fill, load, load_reader, parameters, usual_batch
from autotune.engine.child.returned import BATCH, Taken, class_of, taken_from
from autotune.engine.child.script import fit_reached, other_backend
from autotune.engine.events import EventWriter, Step
from autotune.engine.failure import ERROR, describe
from autotune.engine.folder import TrialFolder
from autotune.errors import DatasetTooSmall, FactoryFailed, ScriptFailed, WorkloadError

Announce = Callable[[str], None]


def look(folder: TrialFolder, writer: EventWriter) -> None:
    """Write what was found, or what is wrong, as the folder's answer."""
    request = json.loads(folder.request.read_text(encoding="utf-8"))

    def announce(what: str) -> None:
        writer.write(events.DOING, what=what)

    try:
        answer = {"facts": _facts(request, folder, announce)}
    except WorkloadError as exc:
        answer = {"complaint": _as_json(exc)}
    folder.answer.write_text(json.dumps(answer), encoding="utf-8")


def _as_json(complaint: WorkloadError) -> dict[str, Any]:
    cause = complaint.__cause__
    return {
        "kind": type(complaint).__name__,
        "cause": complaint.cause,
        "next_step": complaint.next_step,
        "error": describe(cause) if cause else None,
    }


def _facts(request: Mapping[str, Any], folder: TrialFolder, announce: Announce) -> dict[str, Any]:
    if request["script"]:
        return _script_facts(request, folder, announce)
    announce(Step.IMPORTING)
    begun, generators = time.monotonic(), OpenGenerators()
    with generators:
        dataset_fn = _load(request["dataset"], folder.pickled("dataset_fn"))
    model_fn = _load(request["model"], folder.pickled("model_fn"))
    own, handed = request["offered"], Handed()
    dataset_values = _values(dataset_fn, "dataset", request, offered(handed) | own)
    model_values = _values(model_fn, "model", request, own)
    callbacks = _checked_callbacks(request, folder) if request["callbacks"] else []

    announce(Step.CALLING_DATASET)
    with generators:
        made = _call(dataset_fn, "dataset_fn", dataset_values)
    calling = time.monotonic() - begun
    announce(Step.FIRST_EXAMPLE)
    batched = "batch_size" in dataset_values
    taken = taken_from(made, batched=batched, unbatch=request["unbatch"])
    if request["examples"]:
        taken = taken._replace(examples=request["examples"])
    data = InspectedDataset(taken)
    data.read_first()
    announce(Step.CALLING_MODEL)
    begun = time.monotonic()
    model = InspectedModel(_call(model_fn, "model_fn", model_values))
    calling += time.monotonic() - begun
    data.check_rank(model.ranks())
    announce(Step.TRYING)
    patience = request["seconds"] / 4
    model.train_on(data.few(static_batch(model.model)), _not_fitting, patience)
    announce(Step.LOOKING)
    return {
        "model_takes": parameters(model_fn),
        "dataset_takes": parameters(dataset_fn),
        "usual_batch": taken.own_batch or usual_batch(dataset_fn) or static_batch(model.model),
        "calling_seconds": calling,
        "batch_callbacks": batch_callbacks(callbacks),
        **model.facts(),
        **_passing(data.facts(patience), generators),
        "handed": handed.facts(patience) if "cache" in dataset_values else (),
    }


def _script_facts(
    request: Mapping[str, Any], folder: TrialFolder, announce: Announce
) -> dict[str, Any]:
    announce(Step.IMPORTING)
    program = load_reader(folder, request["script"])
    announce(Step.RUNNING)
    begun, generators = time.monotonic(), OpenGenerators()
    with ExitStack() as stack:
        with generators:
            of_fit = stack.enter_context(fit_reached(program))
        calling = time.monotonic() - begun
        found = _looked_at(program, of_fit, request["seconds"] / 4, announce)
        return {
            "dataset_takes": ("batch_size",),
            "calling_seconds": calling,
            **_passing(found, generators),
            **of_fit,
            "examples": _examples(of_fit["examples"], _ended(found), of_fit["usual_batch"]),
            **_counted(program.calls[-1].x, of_fit["examples"]),
        }


def _passing(facts: dict[str, Any], generators: OpenGenerators) -> dict[str, Any]:
    """Return facts that say of what can be read once that no pass gives the same as another."""
    return {**facts, "repeatable": False} if generators.once else facts


def _counted(data: Any, told: int | None) -> dict[str, int]:
    """Return the number of examples of what has ended while it was looked at."""
    if not isinstance(data, ReadOnce) or not data.ended:
        return {}
    return {"examples": min(data.examples, told or data.examples)}


def _ended(found: Mapping[str, Any]) -> int | None:
    """Return the examples that the data hold; None where time was up before they ended."""
    return None if "examples" in found["uncertain"] else found["examples"]


def _examples(told: int | None, counted: int | None, own: int) -> int | None:
    """Return how many examples an epoch has.

    Args:
        told: As many as the script's steps take, although the last of them may take fewer.
        counted: Until the data ended, without those that did not fill the last batch.
        own: Examples in the script's own batches.
    """
    if told is None or counted is None:
        return told or counted
    return counted if told - counted >= BATCH + own else min(told, counted + BATCH - 1)


def _looked_at(
    program: ModuleType, of_fit: Mapping[str, Any], patience: float, announce: Announce
) -> dict[str, Any]:
    """Return what is known of the model and the data that a script gives to its `fit`.

    Batches that are not of the script's own size are looked at first, because these are tuned.
    """
    look = partial(_looked_at_batches, program, InspectedModel(program.calls[-1].model))
    own = of_fit["usual_batch"]
    try:
        found = look(BATCH, patience, announce)
        if not (found["built_in_batch"] or found["carried_state"]):
            return found
    except DatasetTooSmall:
        return look(own, patience, announce)
    except WorkloadError:
        pass  # Perhaps others cannot be made of its data, or trained with.
    found = look(own, patience, announce, whole=True)
    of_fit["fit"]["only_batch"] = own
    return found


def _looked_at_batches(
    program: ModuleType,
    model: InspectedModel,
    size: int,
    patience: float,
    announce: Announce,
    **how: bool,
) -> dict[str, Any]:
    source = program.calls[-1].x
    once = source if isinstance(source, ReadOnce) else None
    try:
        announce(Step.CALLING_DATASET)
        if once:
            once.begin()
        made = _call(program.dataset_fn, "The data of fit", {"batch_size": size, **how})
        taken = Taken(made, size, batched=True, returned={}, once=once is not None)
        data = InspectedDataset(taken)
        announce(Step.FIRST_EXAMPLE)
        data.read_first()
        announce(Step.TRYING)
        model.train_on(data.few(), _not_training, patience)
        if once:
            once.go_on()
        announce(Step.LOOKING)
        return {**model.facts(), **data.facts(patience)}
    except DatasetTooSmall as exc:
        raise DatasetTooSmall(
            f"The data of fit has no batch of {size} examples.", "Check its file paths and filters."
        ) from exc.__cause__
    except FactoryFailed as exc:
        raise other_backend(
            ScriptFailed(
                exc.cause,
                "Check that the script trains by itself, and that its fit is given arrays, tables, "
                "tensors, a tf.data.Dataset, a keras.utils.PyDataset or a generator.",
            )
        ) from exc.__cause__


def _checked_callbacks(request: Mapping[str, Any], folder: TrialFolder) -> list[Any]:
    callbacks_fn = _load(request["callbacks"], folder.pickled("callbacks_fn"))
    values = _values(callbacks_fn, "callbacks", request, {})
    made = _call(callbacks_fn, "callbacks_fn", values)
    listed = isinstance(made, list | tuple)
    if not listed or not all(isinstance(each, keras.callbacks.Callback) for each in made):
        raise FactoryFailed(
            "callbacks_fn did not return a list of keras.callbacks.Callback.",
            "Return a list; it may be empty.",
        )
    return list(made)


def _values(
    function: Call, role: str, request: Mapping[str, Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    fixed = dict(request[role]["arguments"])
    return fill(function, role=role, fixed=fixed, offered=extra)


def _load(factory: Mapping[str, Any], pickled: Path) -> Call:
    if not pickled.exists():
        return load(factory["name"], factory["module"], factory["root"])
    try:
        function: Call = cloudpickle.loads(pickled.read_bytes())
    except BaseException as exc:
        raise FactoryFailed(
            f"{factory['name']} cannot be unpickled in another process: {ERROR}.",
            "Move it into a module and import it from there.",
        ) from exc
    return function


def _call(function: Call, name: str, values: Mapping[str, Any]) -> Any:
    try:
        return function(**values)
    except BaseException as exc:
        raise FactoryFailed(
            f"{name} raised {ERROR}.", "Fix it so that it runs on its own."
        ) from exc


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
        ScriptFailed(
            cause,
            "Check that the script trains by itself. Here a step of it was tried without a graph "
            "(run_eagerly=True).",
        )
    )


class InspectedModel:
    """Checks a model and describes it.

    Args:
        model: What the factory returned.

    Raises:
        WorkloadError: It is no compiled Keras model.
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, keras.Model):
            raise FactoryFailed(
                f"model_fn returned {class_of(model)}, not a keras.Model.",
                "Return a compiled keras.Model.",
            )
        if not model.compiled or model.optimizer is None:
            raise FactoryFailed(
                "model_fn returned a model that is not compiled.",
                "Call model.compile(optimizer=..., loss=...) before returning it.",
            )
        self.model = model
        self._built_in_batch: int | None = None
        self._carried_state = ""
        self._eager = bool(model.run_eagerly or tf.config.functions_run_eagerly())
        self._jit_compile = bool(model.jit_compile) and not self._eager
        self._uncompilable = ""
        self._dense: dict[tuple[int, int], int] = {}
        self._operations = 0

    def ranks(self) -> list[int]:
        """Return the rank of each input with its batch dimension; none where nobody knows."""
        try:
            return [len(each.shape) for each in self.model.inputs or ()]
        except (AttributeError, ValueError):  # It learns its inputs from the first batch.
            return []

    def train_on(self, batch: Any, failed: Callable[[str], WorkloadError], patience: float) -> None:
        """Take one step, which shows whether model, loss, metrics and data fit together.

        It is taken eagerly: that needs no tracing, and errors name the line that raised them.

        Args:
            batch: Is trained on.
            failed: Makes the error from its cause.
            patience: Seconds; a step that takes longer is the only one.

        Raises:
            WorkloadError: The model does not accept the examples.
        """
        began = time.monotonic()
        self.model.run_eagerly = True
        self._listen()
        try:
            # The batch is a dataset of its own, so that no error of the user's dataset comes here.
            self.model.fit(tf.data.Dataset.from_tensors(batch), verbose=0)
        except BaseException as exc:
            cause = f"The model cannot be trained on the dataset's examples: {ERROR}."
            raise failed(cause) from exc
        self._carried_state = stateful_layer(self.model)
        if time.monotonic() - began <= patience:
            self._try_more(batch)

    def _try_more(self, batch: Any) -> None:
        """Take further steps and traces, which show what one step does not."""
        self._operations = self._traced(batch)
        self._uncompilable = self._why_not_compiled(batch) if self._eager else ""
        rows = rows_of(batch) or 1
        self._built_in_batch = None if rows < 2 or self._takes_half(batch, rows) else rows
        few = first_rows(batch, 2) if rows > 2 and not self._built_in_batch else batch
        self._carried_state = self._carried_state or carried_state(self.model, few)

    def _why_not_compiled(self, batch: Any) -> str:
        """Return why a model that runs eagerly cannot be compiled; empty if it can."""
        tf.config.run_functions_eagerly(run_eagerly=False)
        try:
            tf.function(self.model.train_step, autograph=False).get_concrete_function(batch)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the step has raised nothing
            error = describe(exc)
            where = f" in {error['where']}" if error["where"] else ""
            return f"{error['kind']}{where}"
        return ""

    def _takes_half(self, batch: Any, rows: int) -> bool:
        """Return whether the model can be trained with half of a batch."""
        half = first_rows(batch, rows // 2)
        try:
            self.model.fit(tf.data.Dataset.from_tensors(half), verbose=0)
        except Exception:  # noqa: BLE001 - whatever it is, the whole batch has raised nothing
            return False
        return True

    def _traced(self, batch: Any) -> int:
        """Return how many operations the forward pass has, which is quickly traced."""
        features, *_ = keras.utils.unpack_x_y_sample_weight(batch)
        call = tf.function(lambda given: self.model(given, training=True))
        try:
            return len(call.get_concrete_function(features).graph.get_operations())
        except Exception:  # noqa: BLE001 - a model with a step of its own need not have one
            return 0

    def facts(self) -> dict[str, Any]:
        """Return what is known of the model, once it has been tried."""
        trainable = self.model.trainable_weights
        return {
            "weights": sum(int(np.prod(each.shape)) for each in self.model.weights),
            "gradient_bytes": sum(_weight_bytes(each) for each in trainable),
            "dense_gradient_bytes": self._exchanged(),
            "operations": self._operations,
            "accumulated_steps": accumulated_steps(self.model),
            "built_in_batch": self._built_in_batch,
            "carried_state": self._carried_state,
            "eager": self._eager,
            "jit_compile": self._jit_compile,
            "uncompilable": self._uncompilable,
            "own_train_function": _makes_own_function(self.model),
            "only_steps": type(self.model).call is keras.Model.call,
            "optimizer": type(self.model.optimizer).__name__,
            "loss": _loss_name(self.model.loss),
        }

    def _exchanged(self) -> int:
        # With accumulation only every so many steps exchange anything.
        return 0 if accumulated_steps(self.model) > 1 else sum(self._dense.values())

    def _listen(self) -> None:
        """Note which gradients are dense: replicas exchange of the others only the rows used."""
        # A train_step may have optimizers of its own.
        own = vars(self.model).values()
        optimizers = {id(each): each for each in own if isinstance(each, keras.Optimizer)}
        for key, each in {**optimizers, id(self.model.optimizer): self.model.optimizer}.items():
            each.apply = self._noting(key, each.apply)

    def _noting(self, key: int, apply: Callable[..., Any]) -> Callable[..., Any]:
        def noting(grads: Any, *args: Any, **kwargs: Any) -> Any:
            grads = list(grads)
            for index, grad in enumerate(grads):
                if isinstance(grad, tf.Tensor):
                    self._dense[key, index] = _weight_bytes(grad)
            return apply(grads, *args, **kwargs)

        return noting


def _makes_own_function(model: Any) -> bool:
    made = type(model).make_train_function, type(model)._make_function  # noqa: SLF001 - what it calls
    return made != (keras.Model.make_train_function, keras.Model._make_function)  # noqa: SLF001 - as above


def _weight_bytes(weight: Any) -> int:
    return int(np.prod(weight.shape)) * int(tf.as_dtype(weight.dtype).size)


def _loss_name(loss: Any) -> str:
    if loss is None:
        return ""
    if isinstance(loss, str):
        return loss
    if isinstance(loss, dict):
        return ", ".join(_loss_name(each) for each in loss.values())
    if isinstance(loss, list | tuple):
        return ", ".join(_loss_name(each) for each in loss)
    return str(getattr(loss, "__name__", type(loss).__name__))
