"""A run of one configuration, apart from any search."""

from __future__ import annotations

from pathlib import Path

from autotune.config import Configuration
from autotune.engine.tasks.train import TrialRequest, trial_request
from autotune.options import SCRIPT_SEED
from autotune.search.epochs import fill_of
from autotune.search.request import Subject


def request_alone(configuration: Configuration, subject: Subject, folder: Path) -> TrialRequest:
    """Return what an engine needs to run a configuration once."""
    return trial_request(
        configuration,
        subject.workload,
        subject.facts,
        subject.machine,
        folder,
        seed=SCRIPT_SEED,
        fill=fill_of(configuration, subject),
    )
