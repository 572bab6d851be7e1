"""Calls the factories and looks at what they give, in a process of its own.

Every step is announced before it is taken, so that the tuner knows what blocks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import keras

from autotune.run import events
from autotune.run.child import loading
from autotune.run.child.complaint import Complaint, failed
from autotune.run.child.dataset_look import DatasetLook, offered
from autotune.run.child.loading import Call
from autotune.run.child.model_look import ModelLook
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
    except Complaint as exc:
        answer = {"complaint": _as_json(exc)}
    folder.answer.write_text(json.dumps(answer), encoding="utf-8")


def _as_json(complaint: Complaint) -> dict[str, Any]:
    cause = complaint.__cause__
    return {
        "kind": complaint.kind,
        "cause": complaint.cause,
        "next_step": complaint.next_step,
        "error": describe(cause) if cause else None,
    }


def _facts(request: Mapping[str, Any], folder: TrialFolder, announce: Announce) -> dict[str, Any]:
    announce(Step.IMPORTING)
    dataset_fn = _load(request["dataset"], folder.pickled("dataset_fn"))
    model_fn = _load(request["model"], folder.pickled("model_fn"))
    own = request["offered"]
    dataset_values = _values(dataset_fn, "dataset", request, offered() | own)
    model_values = _values(model_fn, "model", request, own)
    if request["callbacks"]:
        _check_callbacks(request, folder)

    announce(Step.CALLING_DATASET)
    data = DatasetLook(
        _call(dataset_fn, "dataset_fn", dataset_values), batched="batch_size" in dataset_values
    )
    announce(Step.FIRST_EXAMPLE)
    data.read_first()
    announce(Step.CALLING_MODEL)
    model = ModelLook(_call(model_fn, "model_fn", model_values))
    announce(Step.TRYING)
    model.train_on(data.few())
    announce(Step.LOOKING)
    return {
        "model_takes": loading.parameters(model_fn),
        "dataset_takes": loading.parameters(dataset_fn),
        **model.facts(),
        **data.facts(patience=request["seconds"] / 4),
    }


def _check_callbacks(request: Mapping[str, Any], folder: TrialFolder) -> None:
    callbacks_fn = _load(request["callbacks"], folder.pickled("callbacks_fn"))
    values = _values(callbacks_fn, "callbacks", request, {})
    made = _call(callbacks_fn, "callbacks_fn", values)
    listed = isinstance(made, list | tuple)
    if not listed or not all(isinstance(each, keras.callbacks.Callback) for each in made):
        raise failed(
            "callbacks_fn did not return a list of keras.callbacks.Callback.",
            "Return a list; it may be empty.",
        )


def _values(
    function: Call, role: str, request: Mapping[str, Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    fixed = dict(request[role]["arguments"])
    return loading.fill(function, role=role, fixed=fixed, offered=extra)


def _load(factory: Mapping[str, Any], pickled: Path) -> Call:
    if not pickled.exists():
        return loading.load(factory["name"], factory["module"], factory["root"])
    try:
        function: Call = cloudpickle.loads(pickled.read_bytes())
    except BaseException as exc:
        raise failed(
            f"{factory['name']} cannot be unpickled in another process: {ERROR}.",
            "Move it into a module and import it from there.",
        ) from exc
    return function


def _call(function: Call, name: str, values: Mapping[str, Any]) -> Any:
    try:
        return function(**values)
    except BaseException as exc:
        raise failed(f"{name} raised {ERROR}.", "Fix it so that it runs on its own.") from exc
