"""Has the engine look at how the model learns, where the objective asks for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from autotune.config import Configuration
from autotune.learning import Learning
from autotune.options import SearchOptions
from autotune.run.engine import Engine, LearningRequest
from autotune.run.requests import trial_request
from autotune.search.request import Subject

SECONDS = 10.0
"""For training and looking, at most."""
SHARE = 0.1
"""Of the budget, at most; starting a training comes to that."""


def learned(subject: Subject, engine: Engine, options: SearchOptions, trials: Path) -> Learning:
    """Return what an example teaches at other batch sizes than the user's own.

    Args:
        subject: What is trained where.
        engine: Trains it.
        options: Bound the time, and may name the batch.
        trials: The folder for the trials' folders.
    """
    batch = usual_batch(subject, options)
    if options.global_batch is not None:
        return Learning(batch=batch)  # All configurations have that batch.
    configuration = Configuration(per_replica_batch=batch)
    trials.mkdir(parents=True, exist_ok=True)
    request = trial_request(
        configuration,
        subject.workload,
        subject.facts,
        subject.machine,
        Path(tempfile.mkdtemp(prefix="learning-", dir=trials), "run"),
        seed=options.seed,
    )
    seconds = min(SECONDS, SHARE * options.budget) if options.budget else SECONDS
    return engine.learn(LearningRequest(trial=request, seconds=seconds))


def usual_batch(subject: Subject, options: SearchOptions) -> int:
    """Return the user's own global batch: as asked for, else the factory's, else that of Keras."""
    return options.global_batch or subject.facts.usual_batch or Configuration().per_replica_batch
