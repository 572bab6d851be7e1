"""Has the engine look at how the model learns, where the objective asks for it."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import Engine, Limits
from autotune.engine.tasks.train import LearningRequest, trial_request
from autotune.events import Observer, Preparing
from autotune.objective import Batches
from autotune.options import PROFILE_SHARE
from autotune.search.costs import STARTING
from autotune.search.request import Subject, TuningRequest
from autotune.stats.gradients import Learning, Unpredictable


def foreknown(
    request: TuningRequest,
    subject: Subject,
    default: Configuration,
    known: Learning | None,
) -> Learning | None:
    """Return what is known of other batch sizes without an inspection; None where one is needed.

    What an earlier session of the same search has found is not looked at again.
    """
    batch = default.global_batch
    fixed = request.options.global_batch is not None
    if fixed or subject.objective.batches is not Batches.WEIGHED:
        return Learning(batch=batch)
    if known and known.batch == batch and known.refused is not Unpredictable.NO_TIME:
        return known.model_copy(update={"seconds": 0.0})
    return None


def learned(  # noqa: PLR0913 - each comes from another part
    request: TuningRequest,
    subject: Subject,
    default: Configuration,
    engine: Engine,
    observer: Observer,
    *,
    first_call: float,
    left: float,
) -> Learning:
    """Look at what an example teaches at other batch sizes than the user's own.

    One device with that one was measured, with so many seconds of the first call of its step.
    """
    batch, options = default.global_batch, request.options
    # With all that it takes to start: step and gradient are compiled.
    seconds = min(10.0, PROFILE_SHARE * left - STARTING - 2 * first_call)
    if seconds < 2.0:  # There would be too few gradients.
        return Learning(batch=batch, refused=Unpredictable.NO_TIME)
    observer(Preparing(what=f"Looking at how the model learns at a batch of {batch}"))
    trials = request.out / "trials"
    trials.mkdir(parents=True, exist_ok=True)
    whole = math.inf if options.budget is None else PROFILE_SHARE * options.budget
    trial = trial_request(
        default,
        subject.workload,
        subject.facts,
        subject.machine,
        Path(tempfile.mkdtemp(prefix="learning-", dir=trials), "run"),
        seed=options.seed,
        limits=Limits(whole=whole),
    )
    return engine.execute(LearningRequest(trial=trial, seconds=seconds))
