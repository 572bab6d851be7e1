"""The rule "more than one device: Mirrored", with what Keras does by itself: no trial at all."""

from __future__ import annotations

import sys

from autotune.config import Configuration
from benchmarks.peers.job import Job


def main() -> None:
    """Recommend all devices of this machine, or the only one."""
    job = Job.load(sys.argv[1])
    devices = len(job.machine.gpus) or job.machine.cpus
    mirrored = Configuration(strategy="mirrored", replicas_per_worker=devices)
    job.recommend(mirrored if devices > 1 else Configuration())


if __name__ == "__main__":
    main()
