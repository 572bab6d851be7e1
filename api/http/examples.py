"""An example of every request and answer, for the OpenAPI document; a test checks each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autotune.api.http.answers import address
from autotune.api.http.example_findings import (
    ALONE,
    ALONE_RATE,
    CERTIFICATE,
    COMPARED,
    DIAGNOSIS,
    GAIN,
    GANG,
    NAME,
    PAIR,
    PAIR_RATE,
    REASONS,
    UNCHANGED,
)
from autotune.machine import Machine
from autotune.script import cluster
from autotune.version import VERSION

JOB = "3f1c9a0b5d7e2468ace13579"
SMALLEST = {"workload": "digits"}
COMPLETE = {
    "workload": "digits",
    "params": {"filters": 64},
    "space": "quick",
    "budget": "5min",
    "max_trials": 40,
    "max_global_batch": 256,
    "strategies": ["one_device", "mirrored"],
    "margin": 0.05,
    "seed": 1,
}
OWN_SPACE = {
    "workload": "digits",
    "space": {
        "strategies": ["one_device", "mirrored"],
        "axes": {"replicas_per_worker": [2], "per_replica_batch": [32, 128], "filters": [16, 64]},
    },
    "budget": 120,
}
REQUESTS: dict[str, Any] = {
    "smallest": {"summary": "A registered workload and nothing else", "value": SMALLEST},
    "complete": {"summary": "Every choice made", "value": COMPLETE},
    "own-space": {"summary": "A space of your own", "value": OWN_SPACE},
}

_ALONE, _PAIR = ALONE.model_dump(mode="json"), PAIR.model_dump(mode="json")
_MACHINE = {
    "hosts": [
        {
            "cpus": 8,
            "memory": 34359738368,
            "processor": "an ordinary processor",
            "gpus": [],
            "tpus": 0,
            "name": "",
        }
    ],
    "python": "3.11.2",
    "tensorflow": "2.21.0",
    "keras": "3.15.1",
}
_PAIR_RATE = {"low": 8630.0, "value": PAIR_RATE, "high": 9493.0}
_GAIN = GAIN.model_dump(mode="json")
_SUMMARY = f"Distribute: {NAME} is 1.42 times (1.31 to 1.54) as fast as the best single device."

TUNING: dict[str, Any] = {
    "id": JOB,
    "url": address(JOB),
    "state": "queued",
    "workload": "digits",
    "params": {"filters": 64},
    "space": "quick",
    "budget": 300.0,
    "max_trials": 40,
    "margin": 0.05,
    "diagnose": True,
    "seed": 1,
    "objective": "throughput",
    "global_batch": None,
    "max_global_batch": 256,
    "strategies": ["one_device", "mirrored"],
    "workers": None,
    "allow_asynchronous": False,
    "progress": {
        "attempt": 0,
        "trials": 0,
        "events": 1,
        "one_device": None,
        "distributed": None,
    },
    "verdict": None,
    "summary": None,
    "reason": None,
    "created_at": "2026-03-02T09:30:00Z",
    "started_at": None,
    "ended_at": None,
}
DONE: dict[str, Any] = {
    **TUNING,
    "state": "done",
    "progress": {
        "attempt": 1,
        "trials": 31,
        "events": 70,
        "one_device": ALONE_RATE,
        "distributed": PAIR_RATE,
    },
    "verdict": "distribute",
    "summary": _SUMMARY,
    "started_at": "2026-03-02T09:30:01Z",
    "ended_at": "2026-03-02T09:35:02Z",
}
CANCELLED: dict[str, Any] = {**TUNING, "state": "cancelled", "ended_at": "2026-03-02T09:30:09Z"}
TUNINGS: dict[str, Any] = {"tunings": [DONE], "next": None}
TRIAL: dict[str, Any] = {
    "number": 0,
    "stage": "one device",
    "round": None,
    "outcome": "measured",
    "reason": {"kind": "measured"},
    "sentence": "throughput measured",
    "configuration": _ALONE,
    "global_batch": 128,
    "examples_per_second": ALONE_RATE,
    "error": 0.011,
    "start_seconds": 1.9,
    "first_step_seconds": 0.8,
    "lost_updates": None,
    "wall_seconds": 4.1,
    "peak_memory": 612368384,
}
TRIALS: dict[str, Any] = {"trials": [TRIAL], "next": None}
EVENTS = (
    'event: queued\ndata: {"number":1,"at":"2026-03-02T09:30:00Z","kind":"queued"}\nid: 1\n\n'
    'event: ended\ndata: {"number":2,"at":"2026-03-02T09:35:02Z","kind":"ended","state":"done",'
    f'"summary":"{_SUMMARY}","reason":null}}\nid: 2\n\n'
)
RECOMMENDATION: dict[str, Any] = {
    "autotune": VERSION,
    "verdict": "distribute",
    "summary": _SUMMARY,
    "reasons": list(REASONS),
    "configuration": _PAIR,
    "global_batch": PAIR.global_batch,
    "examples_per_second": _PAIR_RATE,
    "objective": "throughput",
    "value": _PAIR_RATE,
    "speedup": _GAIN,
    "over_default": {"low": 2.2, "value": 2.47, "high": 2.77},
    "one_device": _ALONE,
    "best_distributed": _PAIR,
    "distributed_speedup": _GAIN,
    "margin": 0.05,
    "certificate": CERTIFICATE.model_dump(mode="json"),
    "diagnosis": DIAGNOSIS.model_dump(mode="json"),
    "automatic": None,
    "unchanged_batch": UNCHANGED.model_dump(mode="json"),
    "script": '"""Train with tf.distribute."""\n',
    "launch": None,
    "compared": [each.model_dump(mode="json") for each in COMPARED],
    "machine": _MACHINE,
    "seed": 1,
    "seconds": 300.4,
    "prepared_seconds": 4.1,
    "trials": 31,
    "interrupted": False,
}
WORKLOADS: dict[str, Any] = {
    "workloads": [
        {
            "name": "digits",
            "description": "The shipped example digits.",
            "parameters": {
                "type": "object",
                "title": "Parameters",
                "additionalProperties": False,
                "properties": {
                    "filters": {
                        "type": "integer",
                        "title": "Filters",
                        "default": 32,
                        "minimum": 1,
                        "maximum": 512,
                        "description": "Its width.",
                    }
                },
            },
        }
    ]
}
SPACES: dict[str, Any] = {
    "auto": "cpu",
    "spaces": [
        {
            "name": "quick",
            "description": "A first look.",
            "chosen_for": None,
            "strategies": ["one_device", "mirrored"],
            "axes": {"per_replica_batch": [32, 128]},
        }
    ],
}
MACHINE: dict[str, Any] = {"devices": "bench-1", "machine": _MACHINE}
CONFIG = f"# Written by autotune.\nverdict: distribute\nglobal_batch: 256\nseed: 1 # {JOB}\n"
SCRIPT = '"""Train with tf.distribute."""\n'
_CLUSTER = cluster.cluster_files(GANG, Machine.model_validate(_MACHINE))
SLURM, JOBSET = str(_CLUSTER[cluster.SLURM]), str(_CLUSTER[cluster.JOBSET])
PAGE = (
    f"<!doctype html>\n<title>digits:model_fn: distribute · autotune</title>\n<h1>{_SUMMARY}</h1>\n"
)
REPORT = f"# digits:model\\_fn\n\n**{_SUMMARY}**\n"
METRICS = '# TYPE autotune_jobs gauge\nautotune_jobs{state="queued"} 1.0\n'


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
        "contentSchema": {"$ref": "#/components/schemas/EventAnswer"},
    }
    event = {
        "type": "object",
        "properties": {"data": data, "event": text, "id": {**text, "pattern": "^[0-9]+$"}},
        "required": ["data", "event", "id"],
    }
    content = {"text/event-stream": {"itemSchema": event, "example": EVENTS}}
    return {"description": description, "content": content}


def text_answer(examples: Mapping[str, str], description: str = "The file.") -> dict[str, Any]:
    """Return what OpenAPI says of an answer that is a text, with an example of each media type."""
    text = {"type": "string"}
    content = {kind: {"schema": text, "example": each} for kind, each in examples.items()}
    return {"description": description, "content": content}
