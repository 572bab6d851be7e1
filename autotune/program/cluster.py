"""Files that start a training's processes on several machines: by Slurm, Kubernetes or Ray."""

import re
from collections.abc import Mapping

from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.machine import Machine
from autotune.program.text import fill_in
from autotune.strategies import strategy, tf_config

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
    roles = strategy(configuration.strategy).roles(configuration, machine)
    kinds = [role.kind for role in roles]
    texts = [("kind of process", kind) for kind in kinds]
    for what, text in (*texts, ("version of TensorFlow", machine.tensorflow)):
        # Whatever it is, it ends no string and no line of a shell's or of YAML.
        if not re.fullmatch(r"[\w.+-]*", text, re.ASCII):
            raise ConfigurationError(
                f"The {what} {text!r} cannot be written into a file.",
                "Use letters, digits, '.', '_', '+' and '-'.",
            )
    pods = [f"{NAME}-{each.kind}-0-{each.index}.{NAME}:{PORT}" for each in roles]
    # A pod's number is put in as it is, so it stands outside of the JSON's quotes.
    configs = {
        each.kind: tf_config(roles, pods, each).replace('"index": 0', f'"index": {INDEX}')
        for each in roles
        if each.index == 0
    }
    context = {
        "name": NAME,
        "kinds": kinds,
        "processes": {kind: kinds.count(kind) for kind in kinds},
        "chief": "chief" in kinds,
        "gpus": configuration.replicas_per_worker if machine.gpus else 0,
        "port": PORT,
        "tensorflow": machine.tensorflow,
        "configs": configs,
    }
    return {name: fill_in(template, context) for name, template in _TEMPLATES.items()}
