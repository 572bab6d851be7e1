"""What must hold on a machine with GPUs: each runs a real trial, or looks at what one leaves.

`make check-gpu` runs them where there are GPUs.
"""

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from autotune.engine.base import RunResult
from autotune.engine.local import LocalEngine
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text

from .conftest import Bench, Shows

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(90)]

FREED_SECONDS = 5.0
"""After a kill, the driver may take so long to give memory back."""
SLACK_MIB = 300
"""A driver's own, which comes and goes with contexts."""
MOST_GROWN = 0.5
"""Share of a GPU's memory that a small model cannot need."""


def memory(which: str) -> list[int]:
    """Return MiB of each GPU, as its driver tells: `used` or `total`."""
    command = ["nvidia-smi", f"--query-gpu=memory.{which}", "--format=csv,noheader,nounits"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    return [int(line) for line in told.stdout.split()]


def measured(result: RunResult) -> str:
    """Return how fast a trial was, which must have been measured."""
    assert result.outcome is Outcome.MEASURED, (
        f"{result.outcome}: {reason_text(result.reason)} {result.detail}"
    )
    steps = sum(window.steps for window in result.windows)
    seconds = sum(window.seconds for window in result.windows)
    first = result.first_step_seconds or 0.0
    return f"{steps / seconds:.1f} steps/s, first call {first:.1f} s"


def memory_while_training(bench: Bench, axes: dict[str, Any]) -> tuple[str, list[int]]:
    """Return how fast a trial was, and how many MiB more of each GPU were in use meanwhile."""
    before, used = memory("used"), list[int]()

    def look() -> None:
        used[:] = memory("used")

    speed = measured(bench.train(axes, in_use=look))
    return speed, [now - then for now, then in zip(used, before, strict=True)]


@pytest.mark.parametrize(
    "axes",
    [{}, {"xla": True}, {"precision": "mixed_float16"}],
    ids=["plain", "XLA", "mixed precision"],
)
def test_one_device(bench: Bench, shows: Shows, axes: dict[str, Any]) -> None:
    shows(measured(bench.train(axes)))


def test_fork_server_without_cuda(bench: Bench, shows: Shows) -> None:
    """The process that the trials' processes are forked from holds no device."""
    measured(bench.train({}))
    mine = psutil.Process().children()
    (server,) = [each for each in mine if "fork_server" in " ".join(each.cmdline())]
    held = {link for link in links(server.pid) if link.startswith("/dev/nvidia")}
    assert not held, f"it holds {', '.join(sorted(held))}: a fork of it cannot use CUDA"
    maps = Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    driver = "is" if "libcuda.so" in maps else "is not"
    shows(f"no /dev/nvidia* is open in process {server.pid}; libcuda {driver} loaded")


def links(pid: int) -> list[str]:
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # It may be closed meanwhile.
            found.append(str(each.readlink()))
    return found


def test_freed_after_a_kill(bench: Bench, shows: Shows) -> None:
    """A trial's processes are killed at its end, and their memory is given back."""
    before = memory("used")
    _, grown = memory_while_training(bench, {})
    assert max(grown) > SLACK_MIB, "the trial used no GPU"
    began = time.monotonic()
    while any(now > then + SLACK_MIB for now, then in zip(memory("used"), before, strict=True)):
        late = time.monotonic() - began
        assert late < FREED_SECONDS, f"after {late:.0f} s {memory('used')} MiB were in use"
    shows(f"free {time.monotonic() - began:.1f} s after the end of the trial")


@pytest.mark.usefixtures("bench")
def test_memory_growth(shows: Shows) -> None:
    """TF_FORCE_GPU_ALLOW_GROWTH must reach a trial before its devices."""
    with LocalEngine(environment={"TF_FORCE_GPU_ALLOW_GROWTH": "true"}) as engine:
        _, grown = memory_while_training(Bench(engine), {})
    told = f"a small model took {max(grown)} of {min(memory('total'))} MiB"
    assert max(grown) < MOST_GROWN * min(memory("total")), told
    shows(told)


def test_out_of_memory(bench: Bench, shows: Shows) -> None:
    """What no GPU can hold is reported as that, and the next trial runs."""
    result = bench.train({}, "huge_model_fn")
    told = f"{result.outcome}: {reason_text(result.reason)}"
    assert result.outcome is Outcome.OUT_OF_MEMORY, f"{told} {result.detail}"
    shows(f"{told}; then {measured(bench.train({}))}")


@pytest.mark.parametrize("reduction", ["default", "nccl", "hierarchical", "one_device"])
def test_mirrored(bench: Bench, gpus: int, shows: Shows, reduction: str) -> None:
    """Every GPU takes part, however gradients are reduced."""
    axes = {"strategy": "mirrored", "replicas_per_worker": gpus, "reduction": reduction}
    shows(measured(bench.train(axes)))


def test_a_worker_group_with_a_gpu_each(bench: Bench, gpus: int, shows: Shows) -> None:
    """As many GPUs are in use as there are workers."""
    group = {"strategy": "multi_worker_mirrored", "workers": gpus, "shard_policy": "data"}
    speed, grown = memory_while_training(bench, group)
    busy = sum(each > SLACK_MIB for each in grown)
    assert busy == gpus, f"{gpus} workers used {busy} GPUs"
    shows(f"{speed}, {busy} GPUs in use")
