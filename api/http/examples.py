"""An example of every request and answer, for the OpenAPI document; a test checks each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autotune.api.http.answers import TrialAnswer
from autotune.api.states import State
from autotune.api.values import LOCAL_OWNER, Job
from autotune.certificate import Certificate, passed, undecided
from autotune.config import Configuration
from autotune.diagnose.break_even import BreakEven
from autotune.diagnose.breakdown import Breakdown, Part, Share
from autotune.diagnose.diagnosis import Diagnosis
from autotune.leaderboard import ITSELF, Entry
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.reason import Measured
from autotune.report.profile import where_it_goes, where_it_pays
from autotune.result import Alternative, Verdict
from autotune.run.engine import Outcome
from autotune.script import cluster
from autotune.trial import Stage
from autotune.verdict import Conclusion, Decision, Explored, Grounds
from autotune.version import VERSION

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored",
    replicas_per_worker=2,
    per_replica_batch=128,
    reduction="one_device",
    steps_per_execution=8,
)
GANG = Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data")
ALONE_RATE, PAIR_RATE = 6374.0, 9051.0
"""Examples per second."""
NAME = "MirroredStrategy with 2 replicas"


def _interval(low: float, value: float, high: float) -> Interval:
    return Interval(low=low, value=value, high=high)


def _breakdown(
    configuration: Configuration, rate: float, shares: dict[Part, Interval]
) -> Breakdown:
    return Breakdown(
        configuration=configuration,
        milliseconds=round(1000 * configuration.global_batch / rate, 1),
        shares=tuple(Share(part=part, share=share) for part, share in shares.items()),
        fixed=_interval(0.05, 0.11, 0.17),
    )


GAIN = _interval(1.31, 1.42, 1.54)
CERTIFICATE = Certificate(
    checks=(
        passed("disjoint examples", "Its 2 replicas read 2,048 examples without overlap."),
        passed("equal batch sizes", "Every replica got 128 examples in each of 8 steps."),
        passed("equal replicas", "All 2 replicas hold the same weights after 8 steps."),
        undecided(
            "same result as one device",
            "Cannot tell within 8 steps whether it trains like one device: rounding or random "
            "numbers may account for 40% of the change in weights.",
        ),
    ),
    seconds=6.3,
)
STEP_ALONE = _breakdown(
    ALONE,
    ALONE_RATE,
    {
        Part.COMPUTE: _interval(0.76, 0.81, 0.86),
        Part.INPUT: _interval(0.10, 0.15, 0.20),
        Part.CALL: _interval(0.0, 0.04, 0.09),
    },
)
STEP_PAIR = _breakdown(
    PAIR,
    PAIR_RATE,
    {
        Part.COMPUTE: _interval(0.64, 0.70, 0.76),
        Part.SHARING: _interval(0.10, 0.16, 0.22),
        Part.EXCHANGE: _interval(0.08, 0.11, 0.14),
        Part.INPUT: _interval(0.0, 0.03, 0.08),
    },
)
BREAK_EVEN = BreakEven(configuration=PAIR, batch=_interval(33, 41, 52), farthest=1024)
DIAGNOSIS = Diagnosis(one_device=STEP_ALONE, distributed=STEP_PAIR, break_even=BREAK_EVEN)
UNCHANGED = Alternative(
    configuration=Configuration(steps_per_execution=8),
    examples_per_second=_interval(4190, 4480, 4790),
    share=0.495,
)
COMPARED = tuple(
    Entry(
        configuration=configuration,
        examples_per_second=_interval(0.95 * rate, rate, 1.05 * rate),
        speedup=gain,
        outcome=Outcome.MEASURED,
        runs=6,
        final=True,
    )
    for configuration, rate, gain in ((PAIR, PAIR_RATE, GAIN), (ALONE, ALONE_RATE, ITSELF))
)
REASONS = (
    CERTIFICATE.line,
    *CERTIFICATE.undecided,
    where_it_goes(STEP_ALONE) or "",
    where_it_goes(STEP_PAIR) or "",
    *where_it_pays(BREAK_EVEN),
    "The global batch is 256 instead of 32, which trains differently.",
)
GROUNDS = Grounds(
    conclusion=Conclusion.GAIN,
    decision=Decision(verdict=Verdict.DISTRIBUTE, challenger=PAIR, gain=GAIN, rounds=6, most=1.54),
    default=Configuration(),
    explored=(Explored(configuration=PAIR, share=1.38),),
)

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

_JOB = Job(
    **COMPLETE,
    id=JOB,
    owner=LOCAL_OWNER,
    state=State.QUEUED,
    attempt=0,
    devices=None,
    events=1,
    trials=0,
    one_device=None,
    distributed=None,
    created_at=1772443800.0,
    started_at=None,
    ended_at=None,
    verdict=None,
    summary=None,
    reason=None,
)
_RESULT = {
    "state": State.DONE,
    "attempt": 1,
    "events": 70,
    "trials": 31,
    "one_device": ALONE_RATE,
    "distributed": PAIR_RATE,
    "started_at": _JOB.created_at + 1,
    "ended_at": _JOB.created_at + 302,
    "verdict": Verdict.DISTRIBUTE,
    "summary": _SUMMARY,
}
_ENDED = {"state": State.CANCELLED, "ended_at": _JOB.created_at + 9}
TUNING, DONE, CANCELLED = (
    _JOB.model_copy(update=each).model_dump(mode="json") for each in ({}, _RESULT, _ENDED)
)
TUNINGS: dict[str, Any] = {"tunings": [DONE], "next": None}
_TRIAL = TrialAnswer(
    number=0,
    stage=Stage.BASELINE,
    configuration=ALONE,
    outcome=Outcome.MEASURED,
    reason=Measured(),
    examples_per_second=ALONE_RATE,
    error=0.011,
    start_seconds=1.9,
    first_step_seconds=0.8,
    wall_seconds=4.1,
    peak_memory=612368384,
)
TRIALS: dict[str, Any] = {"trials": [_TRIAL.model_dump(mode="json")], "next": None}
EVENTS = (
    'event: queued\ndata: {"number":1,"at":"2026-03-02T09:30:00Z","body":{"kind":"queued"}}\n'
    "id: 1\n\n"
    'event: ended\ndata: {"number":2,"at":"2026-03-02T09:35:02Z","body":{"kind":"ended",'
    f'"state":"done","summary":"{_SUMMARY}","reason":null}}}}\nid: 2\n\n'
)
RECOMMENDATION: dict[str, Any] = {
    "autotune": VERSION,
    "verdict": "distribute",
    "summary": _SUMMARY,
    "reasons": list(REASONS),
    "grounds": GROUNDS.model_dump(mode="json"),
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
        "contentSchema": {"$ref": "#/components/schemas/JobEvent"},
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
