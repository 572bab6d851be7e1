"""What the processes of a run are told through its folder, and how their answers are read.

Any engine may use it: the folder is on the caller's host, and the engine brings its files to where
they are read.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from autotune.engine.engine import (
    LearningRequest,
    ObservationRequest,
    RunResult,
    ScreeningRequest,
    TrialRequest,
)
from autotune.engine.folder import TrialFolder
from autotune.engine.observation import Observation
from autotune.reason import Outcome, Overdue, Phase
from autotune.stats.gradients import Learning, Unpredictable
from autotune.workload import Workload


def prepare(request: TrialRequest, **more: object) -> TrialFolder:
    """Write the folder of a trial.

    Args:
        request: What the processes are to run.
        more: What they have to know beside it, as JSON.
    """
    folder = TrialFolder(request.folder).create()
    folder.script.write_text(request.script, encoding="utf-8")
    by_value = write_pickles(folder, request.workload)
    fill = asdict(request.fill) if request.fill else None
    told = {"seed": request.seed, "by_value": by_value, "fill": fill, **more}
    folder.request.write_text(json.dumps(told), encoding="utf-8")
    return folder


def prepare_observation(request: ObservationRequest) -> TrialFolder:
    """Write the folder of an observed run."""
    order = {
        "calls": request.calls,
        "steps_per_call": request.trial.configuration.steps_per_execution,
        "reads": request.reads,
        "kept": request.kept,
        "processes": request.processes,
        "counting_seconds": request.counting_seconds,
        "batched": request.batched,
    }
    folder = prepare(request.trial, order=order)
    if request.reference_to:
        folder.reference.symlink_to(request.reference_to.absolute())
    return folder


def prepare_screening(request: ScreeningRequest) -> TrialFolder:
    """Write the folder of a screening."""
    settings = [
        {"script": script, "steps": c.steps_per_execution, "cached": c.cache != "off"}
        for c, script in request.settings
    ]
    return prepare(request.trial, settings=settings)


def prepare_learning(request: LearningRequest) -> TrialFolder:
    """Write the folder of a training whose gradients are looked at."""
    batch = request.trial.configuration.global_batch
    return prepare(request.trial, order={"batch": batch, "seconds": request.seconds})


def write_pickles(folder: TrialFolder, workload: Workload) -> list[str]:
    """Write the factories that are shipped by value; return their names in the program."""
    by_value = {name: each.pickled for name, each in workload.factories.items() if each.pickled}
    for name, pickled in by_value.items():
        folder.pickled(name).write_bytes(pickled)
    return list(by_value)


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


def learning(folder: TrialFolder, result: RunResult, batch: int) -> Learning:
    """Return what gradients told, until the end or its time was up; or why they told nothing."""
    over, answer, seconds = _is_over(result), folder.answers(0), result.wall_seconds
    if result.outcome is Outcome.MEASURED or (over and answer.exists()):
        found = Learning.model_validate_json(answer.read_text("utf-8"))
        return found.model_copy(update={"seconds": seconds})
    why = Unpredictable.NO_TIME if over else Unpredictable.FAILED
    return Learning(batch=batch, refused=why, seconds=seconds)


def _is_over(result: RunResult) -> bool:
    """Return whether the time of a run was up."""
    return isinstance(result.reason, Overdue) and result.reason.phase is Phase.WHOLE
