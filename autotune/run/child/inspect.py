"""Calls the factories and inspects what they give, in a process of its own.

Every step is announced before it is taken, so that the tuner knows what blocks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import keras
import numpy as np
import tensorflow as tf

from autotune.errors import DatasetTooSmall, FactoryFailed, ScriptFailed, WorkloadError
from autotune.run import events
from autotune.run.child.inspect_dataset import Handed, InspectedDataset, offered
from autotune.run.child.program import Call, fill, load, load_reader, parameters, usual_batch
from autotune.run.child.returned import BATCH, Taken, class_of, taken_from
from autotune.run.child.script import fit_reached
from autotune.run.events import EventWriter, Step
from autotune.run.failure import ERROR, describe
from autotune.run.folder import TrialFolder

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
    begun = time.monotonic()
    dataset_fn = _load(request["dataset"], folder.pickled("dataset_fn"))
    model_fn = _load(request["model"], folder.pickled("model_fn"))
    own, handed = request["offered"], Handed()
    dataset_values = _values(dataset_fn, "dataset", request, offered(handed) | own)
    model_values = _values(model_fn, "model", request, own)
    if request["callbacks"]:
        _check_callbacks(request, folder)

    announce(Step.CALLING_DATASET)
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
    model.train_on(data.few(), _not_fitting)
    announce(Step.LOOKING)
    patience = request["seconds"] / 4
    return {
        "model_takes": parameters(model_fn),
        "dataset_takes": parameters(dataset_fn),
        "usual_batch": taken.own_batch or usual_batch(dataset_fn),
        "calling_seconds": calling,
        **model.facts(),
        **data.facts(patience),
        "handed": handed.facts(patience) if "cache" in dataset_values else (),
    }


def _script_facts(
    request: Mapping[str, Any], folder: TrialFolder, announce: Announce
) -> dict[str, Any]:
    announce(Step.IMPORTING)
    program = load_reader(folder, request["script"])
    announce(Step.RUNNING)
    begun = time.monotonic()
    with fit_reached(program) as of_fit:
        calling = time.monotonic() - begun
        found = _looked_at(program, of_fit, request["seconds"] / 4, announce)
        return {
            "dataset_takes": ("batch_size",),
            "calling_seconds": calling,
            **found,
            **of_fit,
            "examples": _examples(of_fit["examples"], found["examples"], of_fit["usual_batch"]),
        }


def _examples(told: int | None, counted: int | None, own: int) -> int | None:
    """Return how many examples an epoch has.

    Args:
        told: As many as the script's steps take, although the last of them may take fewer.
        counted: Until the data ended, without those that did not fill the last batch.
        own: Examples in the script's own batches.
    """
    if told is None or counted is None:
        return told or counted
    return counted if told - counted >= BATCH + own else told


def _looked_at(
    program: ModuleType, of_fit: Mapping[str, Any], patience: float, announce: Announce
) -> dict[str, Any]:
    """Return what is known of the model and the data that a script gives to its `fit`.

    Batches that are not of the script's own size are looked at first, because these are tuned.
    """
    look = partial(_looked_at_batches, program, InspectedModel(program.calls[-1].model))
    own = of_fit["usual_batch"]
    try:
        return look(BATCH, patience, announce)
    except DatasetTooSmall:
        return look(own, patience, announce)
    except WorkloadError:
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
    try:
        announce(Step.CALLING_DATASET)
        made = _call(program.dataset_fn, "The data of fit", {"batch_size": size, **how})
        data = InspectedDataset(Taken(made, size, batched=True, returned={}))
        announce(Step.FIRST_EXAMPLE)
        data.read_first()
        announce(Step.TRYING)
        model.train_on(data.few(), _not_training)
        announce(Step.LOOKING)
        return {**model.facts(), **data.facts(patience)}
    except DatasetTooSmall as exc:
        raise DatasetTooSmall(
            f"The data of fit has no batch of {size} examples.", "Check its file paths and filters."
        ) from exc.__cause__
    except FactoryFailed as exc:
        raise ScriptFailed(
            exc.cause,
            "Check that the script trains by itself, and that its fit is given arrays, tables, "
            "tensors, a tf.data.Dataset, a keras.utils.PyDataset or a generator.",
        ) from exc.__cause__


def _check_callbacks(request: Mapping[str, Any], folder: TrialFolder) -> None:
    callbacks_fn = _load(request["callbacks"], folder.pickled("callbacks_fn"))
    values = _values(callbacks_fn, "callbacks", request, {})
    made = _call(callbacks_fn, "callbacks_fn", values)
    listed = isinstance(made, list | tuple)
    if not listed or not all(isinstance(each, keras.callbacks.Callback) for each in made):
        raise FactoryFailed(
            "callbacks_fn did not return a list of keras.callbacks.Callback.",
            "Return a list; it may be empty.",
        )


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
    return ScriptFailed(
        cause,
        "Check that the script trains by itself. Here a step of it was tried without a graph "
        "(run_eagerly=True).",
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
        self._model = model
        self._dense: dict[tuple[int, int], int] = {}
        self._operations = 0

    def ranks(self) -> list[int]:
        """Return the rank of each input with its batch dimension; none where nobody knows."""
        try:
            return [len(each.shape) for each in self._model.inputs or ()]
        except (AttributeError, ValueError):  # It learns its inputs from the first batch.
            return []

    def train_on(self, batch: Any, failed: Callable[[str], WorkloadError]) -> None:
        """Take one step, which shows whether model, loss, metrics and data fit together.

        It is taken eagerly: that needs no tracing, and errors name the line that raised them.

        Args:
            batch: Is trained on.
            failed: Makes the error from its cause.

        Raises:
            WorkloadError: The model does not accept the examples.
        """
        self._model.run_eagerly = True
        self._listen()
        try:
            # The batch is a dataset of its own, so that no error of the user's dataset comes here.
            self._model.fit(tf.data.Dataset.from_tensors(batch), verbose=0)
        except BaseException as exc:
            cause = f"The model cannot be trained on the dataset's examples: {ERROR}."
            raise failed(cause) from exc
        self._operations = self._traced(batch)

    def _traced(self, batch: Any) -> int:
        """Return how many operations the forward pass has, which is quickly traced."""
        features, *_ = keras.utils.unpack_x_y_sample_weight(batch)
        call = tf.function(lambda given: self._model(given, training=True))
        try:
            return len(call.get_concrete_function(features).graph.get_operations())
        except Exception:  # noqa: BLE001 - a model with a step of its own need not have one
            return 0

    def facts(self) -> dict[str, Any]:
        """Return what is known of the model, once it has been tried."""
        trainable = self._model.trainable_weights
        return {
            "weights": sum(int(np.prod(each.shape)) for each in self._model.weights),
            "gradient_bytes": sum(_weight_bytes(each) for each in trainable),
            "dense_gradient_bytes": self._exchanged(),
            "operations": self._operations,
            "only_steps": type(self._model).call is keras.Model.call,
            "optimizer": type(self._model.optimizer).__name__,
            "loss": _loss_name(self._model.loss),
        }

    def _exchanged(self) -> int:
        # With accumulation only every so many steps exchange anything.
        rarely = getattr(self._model.optimizer, "gradient_accumulation_steps", None)
        return 0 if rarely else sum(self._dense.values())

    def _listen(self) -> None:
        """Note which gradients are dense: replicas exchange of the others only the rows used."""
        # A train_step may have optimizers of its own.
        own = vars(self._model).values()
        optimizers = {id(each): each for each in own if isinstance(each, keras.Optimizer)}
        for key, each in {**optimizers, id(self._model.optimizer): self._model.optimizer}.items():
            each.apply = self._noting(key, each.apply)

    def _noting(self, key: int, apply: Callable[..., Any]) -> Callable[..., Any]:
        def noting(grads: Any, *args: Any, **kwargs: Any) -> Any:
            grads = list(grads)
            for index, grad in enumerate(grads):
                if isinstance(grad, tf.Tensor):
                    self._dense[key, index] = _weight_bytes(grad)
            return apply(grads, *args, **kwargs)

        return noting


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
