"""Files that start a training's processes on several machines: by Slurm, Kubernetes or Ray."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.machine import Machine
from autotune.program.text import fill_in
from autotune.strategies import strategy

SLURM = "launch.slurm"
JOBSET = "jobset.yaml"
RAY = "launch_ray.py"
NAME = "train"
"""Of the job, and in Kubernetes of the network in which its pods find each other."""
PORT = 20_000
"""On which every pod listens; each has an address of its own."""
INDEX = "$(INDEX)"
"""Kubernetes puts a pod's own number here."""
_TEMPLATES = {name: f"{name}.j2" for name in (SLURM, JOBSET, RAY)}


def cluster_files(configuration: Configuration, machine: Machine) -> Mapping[str, str | None]:
    """Return each file that starts the training on a cluster, None where one process trains."""
    if configuration.workers == 1:
        return dict.fromkeys(_TEMPLATES)
    kinds = [role.kind for role in strategy(configuration.strategy).roles(configuration, machine)]
    texts = [("kind of process", kind) for kind in kinds]
    for what, text in (*texts, ("version of TensorFlow", machine.tensorflow)):
        # Whatever it is, it ends no string and no line of a shell's or of YAML.
        if not re.fullmatch(r"[\w.+-]*", text, re.ASCII):
            raise ConfigurationError(
                f"The {what} {text!r} cannot be written into a file.",
                "Use letters, digits, '.', '_', '+' and '-'.",
            )
    context = {
        "name": NAME,
        "kinds": kinds,
        "processes": {kind: kinds.count(kind) for kind in kinds},
        "chief": "chief" in kinds,
        "gpus": configuration.replicas_per_worker if machine.gpus else 0,
        "port": PORT,
        "tensorflow": machine.tensorflow,
        "jobs": [_job(kind, kinds) for kind in dict.fromkeys(kinds)],
    }
    return {name: fill_in(template, context) for name, template in _TEMPLATES.items()}


def _job(kind: str, kinds: Sequence[str]) -> dict[str, object]:
    cluster = {
        each: [f"{NAME}-{each}-0-{index}.{NAME}:{PORT}" for index in range(kinds.count(each))]
        for each in dict.fromkeys(kinds)
    }
    # A pod's number is put in as it is, so it stands outside of the JSON's quotes.
    task = f'{{"type": "{kind}", "index": {INDEX}}}'
    config = f'{{"cluster": {json.dumps(cluster)}, "task": {task}}}'
    return {"kind": kind, "count": kinds.count(kind), "tf_config": config}
