"""Has the engine look at how the model learns, where the objective asks for it."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from autotune.config import Configuration
from autotune.events import Observer, Preparing
from autotune.learning import Learning, Unpredictable
from autotune.objective import Batches
from autotune.run.engine import Engine, LearningRequest, Limits
from autotune.run.requests import trial_request
from autotune.search.costs import STARTING, expected_first_call
from autotune.search.request import Subject, TuningRequest
from autotune.workload import WorkloadFacts

SECONDS = 10.0
"""For training and looking, at most."""
LEAST = 2.0
"""With less, there would be too few gradients."""
SHARE = 0.15
"""Of the budget, at most, with all that it takes to start."""


def learned(
    request: TuningRequest,
    subject: Subject,
    default: Configuration,
    engine: Engine,
    observer: Observer,
    known: Learning | None = None,
) -> Learning:
    """Return what an example teaches at other batch sizes than the user's own.

    Args:
        request: Bounds the time, and may fix the batch.
        subject: What is trained where, and what is optimized.
        default: One device with the user's own batch.
        engine: Trains it.
        observer: Is told of the look.
        known: What an earlier session of the same search has found, which is not looked at again.
    """
    batch, options = default.global_batch, request.options
    if options.global_batch is not None or subject.objective.batches is not Batches.WEIGHED:
        return Learning(batch=batch)
    if known and known.batch == batch and known.refused is not Unpredictable.NO_TIME:
        return known.model_copy(update={"seconds": 0.0})
    seconds = _affordable(subject.facts, options.budget)
    if seconds < LEAST:
        return Learning(batch=batch, refused=Unpredictable.NO_TIME)
    observer(Preparing(what=f"Looking at how the model learns at a batch of {batch}"))
    trials = request.out / "trials"
    trials.mkdir(parents=True, exist_ok=True)
    whole = math.inf if options.budget is None else SHARE * options.budget
    trial = trial_request(
        default,
        subject.workload,
        subject.facts,
        subject.machine,
        Path(tempfile.mkdtemp(prefix="learning-", dir=trials), "run"),
        seed=options.seed,
        limits=Limits(whole=whole),
    )
    return engine.learn(LearningRequest(trial=trial, seconds=seconds))


def _affordable(facts: WorkloadFacts, budget: float | None) -> float:
    """Return the seconds for training and looking; both the step and its gradient are compiled."""
    if budget is None:
        return SECONDS
    return min(SECONDS, SHARE * budget - STARTING - 2 * expected_first_call(facts))
