"""Makes the request for a run out of what is trained where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autotune.config import Configuration
from autotune.engine.engine import TrialRequest
from autotune.machine import Machine
from autotune.program import render
from autotune.strategies import strategy
from autotune.workload import Workload, WorkloadFacts


def trial_request(
    configuration: Configuration,
    workload: Workload,
    facts: WorkloadFacts,
    machine: Machine,
    folder: Path,
    **more: Any,
) -> TrialRequest:
    """Return the request for a run of a configuration's own program.

    Args:
        configuration: What is run.
        workload: The factories.
        facts: What they give.
        machine: Where it runs.
        folder: For the traces of the run.
        more: Other fields of the request.
    """
    return TrialRequest(
        configuration=configuration,
        script=render(configuration, workload, facts, machine).train,
        workload=workload,
        roles=strategy(configuration.strategy).roles(configuration, machine),
        folder=folder,
        **more,
    )
