"""Workers that run different software say so before they train."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.machine import held_ports
from tests.golden import deliver, golden_texts

from .conftest import ENVIRONMENT, HERE

pytestmark = pytest.mark.real

OTHER = "import tensorflow as tf\n\nkeras.__version__ = '2.0.0'\n"


def start(index: int, program: Path, addresses: list[str]) -> subprocess.Popen[str]:
    """Start a worker by hand, as on a machine of its own."""
    task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    return subprocess.Popen(
        [sys.executable, program, "--steps-per-epoch", "8"],
        cwd=HERE,
        env={**ENVIRONMENT, "TF_CONFIG": json.dumps(task)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_worker_with_another_keras_is_refused(tmp_path: Path) -> None:
    """Each worker ends with the versions that differ, and with none of those that do not."""
    programs = [tmp_path / "here.py", tmp_path / "there.py"]
    text = golden_texts()["workers_data.py"]
    deliver(programs[0], text)
    deliver(programs[1], text.replace("import tensorflow as tf\n", OTHER, 1))
    with held_ports(2) as ports:
        addresses = [f"127.0.0.1:{port}" for port in ports]
        workers = [start(i, program, addresses) for i, program in enumerate(programs)]
    try:
        printed = [each.communicate(timeout=300)[0] for each in workers]
    finally:
        for each in workers:
            each.kill()
            each.wait()
    for each, output in zip(workers, printed, strict=True):
        assert each.returncode == 1, output
        [line] = [line for line in output.splitlines() if "different software" in line]
        assert "replica 1 has Keras 2.0.0, program " in line
        assert "TensorFlow" not in line
        assert "loss" not in output
