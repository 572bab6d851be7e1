"""The delivered JobSet: what its pods run, under the names that Kubernetes would give them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.delivered import QUIET, deliver
from tests.cluster.hosts import Host, Hosts


class Pod:
    def __init__(self, jobset: Mapping[str, Any], job: Mapping[str, Any], index: int) -> None:
        name = jobset["metadata"]["name"]
        self.name = f"{name}-{job['name']}-0-{index}.{name}"
        [self._container] = job["template"]["spec"]["template"]["spec"]["containers"]
        self._index = index

    def start(self, host: Host, folder: Path) -> subprocess.Popen[str]:
        """Run its command with its variables, with references to earlier ones filled in."""
        found: dict[str, str] = {}
        for each in self._container["env"]:
            value = each.get("value", str(self._index))
            for name, earlier in found.items():
                value = value.replace(f"$({name})", earlier)
            found[each["name"]] = value
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, **QUIET, "PATH": path, **found}
        command = [*self._container["command"], *self._container["args"]]
        return host.start(*command, cwd=folder, env=environment)


def pods(manifest: Path) -> Iterator[Pod]:
    jobset = yaml.safe_load(manifest.read_text("utf-8"))
    for job in jobset["spec"]["replicatedJobs"]:
        for index in range(job["template"]["spec"]["completions"]):
            yield Pod(jobset, job, index)


@pytest.mark.real
def test_pods_train(namespaces: None, folder: Path, tmp_path: Path) -> None:
    del namespaces
    deliver(folder, "jobset.yaml")
    found = [*pods(folder / "jobset.yaml")]
    with closing(Hosts([pod.name for pod in found], tmp_path)) as hosts:
        running = [pod.start(host, folder) for pod, host in zip(found, hosts, strict=True)]
        outputs = [each.communicate(timeout=120)[0] for each in running]
    assert [each.returncode for each in running] == [0, 0], outputs
    assert "Epoch 5/5" in outputs[0]
