"""Slurm on hosts: its controller on the first one, a node on each of the others."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.hosts import Hosts
from tests.waiting import until

NEEDED = ("slurmctld", "slurmd", "sbatch", "srun", "munged")
OF_CLUSTER = """\
ClusterName=autotune
SlurmctldHost={controller.name}({controller.address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ReturnToService=2
KillWait=5
PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP
"""
OF_NODE = "NodeName={0.name} NodeAddr={0.address} NodeHostname={0.name} CPUs=1 RealMemory=500\n"


def why_not() -> str | None:
    if any(shutil.which(name) is None for name in NEEDED):
        return "Slurm needs the packages slurm-wlm and munge"
    return None


class Slurm:
    def __init__(self, hosts: Hosts, folder: Path) -> None:
        self.hosts = hosts
        self._folder = folder
        (folder / "state").mkdir()
        nodes = "".join(OF_NODE.format(node) for node in hosts[1:])
        text = OF_CLUSTER.format(controller=hosts[0], folder=folder)
        (folder / "slurm.conf").write_text(text.replace("PartitionName", f"{nodes}PartitionName"))
        self._authenticate()
        self._start(0, "slurmctld", "-D", "-c")
        for number in range(1, len(hosts)):
            self._start(number, "slurmd", "-D", "-N", hosts[number].name)
        self._wait_for_nodes()

    @property
    def environment(self) -> Mapping[str, str]:
        """What Slurm's commands need, and jobs inherit: the Python of the tests comes first."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**os.environ, "SLURM_CONF": str(self._folder / "slurm.conf"), "PATH": path}

    def run(
        self, *command: str | Path, cwd: Path | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        first = self.hosts[0]
        return first.run(*command, env=self.environment, cwd=cwd or self._folder, timeout=timeout)

    def _authenticate(self) -> None:
        """Start the daemon that vouches for users, on the first host; its socket is a file."""
        files = ("key-file", "socket", "pid-file", "seed-file", "log-file")
        options = [f"--{each}={self._folder}/munge.{each.removesuffix('-file')}" for each in files]
        (self._folder / "munge.key").write_bytes(os.urandom(1024))
        (self._folder / "munge.key").chmod(0o400)
        self.hosts[0].do("munged", "--force", *options)

    def _start(self, number: int, *command: str) -> None:
        with (self._folder / f"{command[0]}{number}.log").open("w", encoding="utf-8") as log:
            self.hosts[number].start(*command, env=self.environment, stdout=log)

    def _wait_for_nodes(self) -> None:
        asked = ("sinfo", "--noheader", "--Node", "--format=%T")
        idle = ["idle"] * (len(self.hosts) - 1)
        until(lambda: self.run(*asked).stdout.split() == idle, 60)
