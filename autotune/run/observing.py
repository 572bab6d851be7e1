"""What the processes of an observed run are told, and how their answers are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from autotune.reason import Completed
from autotune.run.engine import ObservationRequest, Outcome, RunResult, Stop, Window
from autotune.run.folder import TrialFolder
from autotune.run.observation import Observation


def order_of(request: ObservationRequest) -> Mapping[str, Any]:
    """Return what the processes have to know, as JSON."""
    return {
        "calls": request.calls,
        "steps_per_call": request.trial.configuration.steps_per_execution,
        "reads": request.reads,
        "kept": request.kept,
        "running": len(request.trial.roles),
        "reference_to": str(request.reference_to) if request.reference_to else None,
        "processes": request.processes,
        "counting_seconds": request.counting_seconds,
        "batched": request.batched,
    }


def seen(_: Sequence[Window]) -> Stop:
    """End the run: its one window says that every process has left its answer."""
    return Stop(Outcome.MEASURED, Completed())


def observation(folder: TrialFolder, result: RunResult, processes: int) -> Observation:
    """Return what the processes saw, or why they did not come to it."""
    if result.outcome is not Outcome.MEASURED:
        return Observation(failure=result.reason, seconds=result.wall_seconds)
    answers = [json.loads(folder.answers(i).read_text("utf-8")) for i in range(processes)]
    return Observation.model_validate(
        {
            "witnesses": [each for answer in answers for each in answer["witnesses"]],
            "whole": answers[0].get("whole"),
            "seconds": result.wall_seconds,
        }
    )
