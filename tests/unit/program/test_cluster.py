"""What starts a training on several machines."""

import json
from typing import Any

import pytest
import yaml

from autotune.config import Configuration
from autotune.program.cluster import JOBSET, RAY, SLURM, cluster_files
from tests.golden import CLUSTER, GPUS, SERVED, TWO_WORKERS

GANG = TWO_WORKERS.but(shard_policy="data")


def pods(text: str) -> dict[str, dict[str, Any]]:
    """Return the TF_CONFIG of each pod, by the address that JobSet gives to it."""
    document = yaml.safe_load(text)
    name, found = document["metadata"]["name"], {}
    for job in document["spec"]["replicatedJobs"]:
        spec = job["template"]["spec"]
        [container] = spec["template"]["spec"]["containers"]
        [port] = container["ports"]
        config = next(e["value"] for e in container["env"] if e["name"] == "TF_CONFIG")
        for index in range(spec["completions"]):
            host = f"{name}-{job['name']}-0-{index}.{name}:{port['containerPort']}"
            found[host] = json.loads(config.replace("$(INDEX)", str(index)))
    return found


@pytest.mark.parametrize("configuration", [GANG, SERVED], ids=["workers", "servers"])
def test_every_pod_finds_itself_and_all_others(configuration: Configuration) -> None:
    """The address of a pod stands where its task says, and all pods name the same cluster."""
    found = pods(cluster_files(configuration, CLUSTER)[JOBSET] or "")
    assert len(found) == configuration.processes
    for host, config in found.items():
        task = config["task"]
        assert config["cluster"][task["type"]][task["index"]] == host
        named = [each for hosts in config["cluster"].values() for each in hosts]
        assert sorted(named) == sorted(found)


def test_workers_get_the_gpus() -> None:
    """As many for each as were measured; the chief and the servers ask for none."""
    gang = cluster_files(GANG.but(replicas_per_worker=2), GPUS)
    assert "#SBATCH --gpus-per-node=2" in (gang[SLURM] or "")
    assert "nvidia.com/gpu: 2" in (gang[JOBSET] or "")
    assert (cluster_files(SERVED, GPUS)[JOBSET] or "").count("nvidia.com/gpu") == 1
    assert "GPUS = 2" in (gang[RAY] or "")


def test_one_process_needs_no_cluster() -> None:
    """Nothing is written for one device, and an earlier search's files are taken away."""
    assert cluster_files(Configuration(), CLUSTER) == {SLURM: None, JOBSET: None, RAY: None}
