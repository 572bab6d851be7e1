"""An example of every request and answer, for the OpenAPI document; a test checks each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from autotune.api.comparison import compared, side
from autotune.api.http.answers import (
    KeyAnswer,
    KeysAnswer,
    MachineAnswer,
    NewKeyAnswer,
    RecommendationAnswer,
    SpacesAnswer,
    TrialAnswer,
    TrialsAnswer,
    WorkersAnswer,
    WorkloadAnswer,
    WorkloadsAnswer,
)
from autotune.api.values import Job, Page, SeenWorker, Waiting
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.program.cluster import JOBSET, SLURM, cluster_files
from autotune.result import Result

_GIVEN: dict[str, Any] = yaml.safe_load(
    files(__package__).joinpath("examples.yaml").read_text("utf-8")
)
REQUESTS: dict[str, Any] = _GIVEN["requests"]
RESULT = RecommendationAnswer.model_validate(_GIVEN["recommendation"])
_QUEUED = Job(**REQUESTS["complete"]["value"], **_GIVEN["job"])
_DONE = Job.model_validate({**vars(_QUEUED), **_GIVEN["done"]})
_MACHINE = Machine.model_validate(_GIVEN["machine"])
_CLUSTER = cluster_files(Configuration(**_GIVEN["gang"]), _MACHINE)
_TRIAL = TrialAnswer.model_validate(_GIVEN["trial"])
_WORKLOADS = tuple(map(WorkloadAnswer.model_validate, _GIVEN["workloads"]))
_WHOLE = Result.model_validate(
    {**_GIVEN["recommendation"], **_GIVEN["result"], "trials": (_GIVEN["trial"],)}
)
_WORKER = SeenWorker(**_GIVEN["worker"], machine=_MACHINE)
JOB = _QUEUED.id
KEY_REQUESTS: dict[str, Any] = _GIVEN["key_requests"]
_KEY = KeyAnswer.model_validate(_GIVEN["key"])
KEYS, NEW_KEY = (
    each.model_dump(mode="json")
    for each in (
        KeysAnswer(keys=(_KEY,)),
        NewKeyAnswer(**dict(_KEY), secret=_GIVEN["secret"]),
    )
)
WORKER, DRAINING, WORKERS, MACHINE = (
    each.model_dump(mode="json")
    for each in (
        _WORKER,
        _WORKER.model_copy(update={"draining": True}),
        WorkersAnswer(workers=(_WORKER,)),
        MachineAnswer(devices=_QUEUED.devices or "", machine=_MACHINE),
    )
)
TUNING, WAITING, DONE, CANCELLED, TUNINGS, TRIALS, RECOMMENDATION, WHOLE, WORKLOADS, SPACES = (
    each.model_dump(mode="json")
    for each in (
        _QUEUED,
        _QUEUED.model_copy(update={"waiting": Waiting(**_GIVEN["waiting"])}),
        _DONE,
        Job.model_validate({**vars(_QUEUED), **_GIVEN["cancelled"]}),
        Page(tunings=(_DONE,), next=None),
        TrialsAnswer(trials=(_TRIAL,), next=None),
        RESULT,
        _WHOLE,
        WorkloadsAnswer(workloads=_WORKLOADS),
        SpacesAnswer.model_validate(_GIVEN["spaces"]),
    )
)
_OTHER = _DONE.model_copy(update={"id": _GIVEN["other"], "params": {"filters": 32}})
COMPARISON = compared(*(side(each, _WHOLE.seconds, _WHOLE) for each in (_DONE, _OTHER))).model_dump(
    mode="json"
)
TEXTS: Mapping[str, str] = {
    **_GIVEN["texts"],
    "slurm": str(_CLUSTER[SLURM]),
    "jobset": str(_CLUSTER[JOBSET]),
}


def json_answer(example: object, description: str) -> dict[str, Any]:
    """Return what OpenAPI says of an answer in JSON."""
    return {
        "description": description,
        "content": {"application/json": {"example": example}},
    }


def event_stream(description: str) -> dict[str, Any]:
    """Return what OpenAPI says of a stream of events."""
    text = {"type": "string"}
    data = {
        **text,
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": "#/components/schemas/JobEvent"},
    }
    event = {
        "type": "object",
        "properties": {"data": data, "event": text, "id": {**text, "pattern": "^[0-9]+$"}},
        "required": ["data", "event", "id"],
    }
    content = {"text/event-stream": {"itemSchema": event, "example": _GIVEN["events"]}}
    return {"description": description, "content": content}


def text_answer(examples: Mapping[str, str], description: str = "The file.") -> dict[str, Any]:
    """Return what OpenAPI says of an answer that is a text.

    Args:
        examples: The name of an example, by media type.
        description: Of the answer.
    """
    text = {"type": "string"}
    content = {kind: {"schema": text, "example": TEXTS[each]} for kind, each in examples.items()}
    return {"description": description, "content": content}
