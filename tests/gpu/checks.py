"""The checks: each runs a real trial, or looks at what one leaves behind."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from autotune.config import Configuration
from autotune.engine.base import Limits, RunResult, Stop
from autotune.engine.local import LocalEngine
from autotune.engine.tasks.train import TrialRequest, trial_request
from autotune.machine import Machine
from autotune.plain import Window
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.stopping import MeasureWatch
from autotune.workload import Workload, WorkloadFacts, factory_from_text
from tests.gpu.check import Check

FACTORIES = Path(__file__).with_name("workload.py")
FACTS = WorkloadFacts(examples=4096)
LIMITS = Limits(start=60.0, first_step=60.0)
FREED_SECONDS = 5.0
"""After a kill, the driver may take so long to give memory back."""
SLACK_MIB = 300
"""A driver's own, which comes and goes with contexts."""
MOST_GROWN = 0.5
"""Share of a GPU's memory that a small model cannot need."""


class Bench:
    """An engine on this machine, and a small workload to run on it."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine

    @property
    def machine(self) -> Machine:
        return self.engine.machine()

    def train(
        self,
        configuration: Configuration,
        model: str = "model_fn",
        *,
        in_use: list[int] | None = None,
    ) -> RunResult:
        """Run a trial until it is measured.

        Args:
            configuration: How.
            model: Name of the factory.
            in_use: Is given the MiB that are in use of each GPU while it trains.
        """
        measured = MeasureWatch()

        def watch(windows: Sequence[Window]) -> Stop | None:
            if in_use is not None:
                in_use[:] = memory("used")
            return measured(windows)

        with tempfile.TemporaryDirectory() as folder:
            request = self._request(configuration, model, Path(folder) / "trial")
            return self.engine.execute(request, watch)

    def _request(self, configuration: Configuration, model: str, folder: Path) -> TrialRequest:
        workload = Workload(
            model=factory_from_text(f"{FACTORIES}:{model}"),
            dataset=factory_from_text(f"{FACTORIES}:dataset_fn"),
        )
        return trial_request(configuration, workload, FACTS, self.machine, folder, limits=LIMITS)


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


def trains(bench: Bench, *, most: bool = False, **axes: object) -> str:
    """Train a configuration, and return how fast it is.

    Args:
        bench: Where.
        most: Whether every GPU takes part.
        axes: What it sets.
    """
    gpus = len(bench.machine.gpus) if most else 1
    return measured(bench.train(Configuration(**{"replicas_per_worker": gpus, **axes})))


def the_fork_server_holds_no_device(bench: Bench) -> str:
    """Look at what the process holds that the trials' processes are forked from."""
    measured(bench.train(Configuration()))
    mine = psutil.Process().children()
    (server,) = [each for each in mine if "fork_server" in " ".join(each.cmdline())]
    held = {str(link) for link in _links(server.pid) if str(link).startswith("/dev/nvidia")}
    assert not held, f"it holds {', '.join(sorted(held))}: a fork of it cannot use CUDA"
    maps = Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    driver = "is" if "libcuda.so" in maps else "is not"
    return f"no /dev/nvidia* is open in process {server.pid}; libcuda {driver} loaded"


def _links(pid: int) -> list[Path]:
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # It may be closed meanwhile.
            found.append(each.readlink())
    return found


def memory_grows_where_it_is_asked_for(_: Bench) -> str:
    """Train with TF_FORCE_GPU_ALLOW_GROWTH, which must reach a trial before its devices."""
    before, used = memory("used"), []
    with LocalEngine(environment={"TF_FORCE_GPU_ALLOW_GROWTH": "true"}) as engine:
        measured(Bench(engine).train(Configuration(), in_use=used))
    taken = max(now - then for now, then in zip(used, before, strict=True))
    whole = min(memory("total"))
    assert taken < MOST_GROWN * whole, f"a small model took {taken} of {whole} MiB"
    return f"a small model took {taken} of {whole} MiB"


def want_of_memory_is_seen_and_survived(bench: Bench) -> str:
    result = bench.train(Configuration(), "huge_model_fn")
    told = f"{result.outcome}: {reason_text(result.reason)}"
    assert result.outcome is Outcome.OUT_OF_MEMORY, f"{told} {result.detail}"
    return f"{told}; then {measured(bench.train(Configuration()))}"


def a_gang_has_a_gpu_each(bench: Bench) -> str:
    before, used = memory("used"), []
    workers = len(bench.machine.gpus)
    gang = {"strategy": "multi_worker_mirrored", "workers": workers, "shard_policy": "data"}
    told = measured(bench.train(Configuration(**gang), in_use=used))
    busy = sum(now - then > SLACK_MIB for now, then in zip(used, before, strict=True))
    assert busy == workers, f"{workers} workers used {busy} GPUs"
    return f"{told}, {busy} GPUs in use"


def devices_are_free_after_a_kill(bench: Bench) -> str:
    """Wait after a trial, whose processes are killed, until its memory is given back."""
    before, used = memory("used"), []
    measured(bench.train(Configuration(), in_use=used))
    assert max(used) > max(before) + SLACK_MIB, "the trial used no GPU"
    began = time.monotonic()
    while any(now > then + SLACK_MIB for now, then in zip(memory("used"), before, strict=True)):
        late = time.monotonic() - began
        assert late < FREED_SECONDS, f"after {late:.0f} s {memory('used')} MiB were in use"
    return f"free {time.monotonic() - began:.1f} s after the end of the trial"


def _trains(**axes: object) -> Callable[[Bench], str]:
    return partial(trains, **axes)


CHECKS = (
    Check(name="one device", look=_trains()),
    Check(name="fork server without CUDA", look=the_fork_server_holds_no_device),
    Check(name="freed after a kill", look=devices_are_free_after_a_kill),
    Check(name="memory growth", look=memory_grows_where_it_is_asked_for),
    Check(name="out of memory", look=want_of_memory_is_seen_and_survived),
    Check(name="XLA", look=_trains(xla=True)),
    Check(name="mixed precision", look=_trains(precision="mixed_float16")),
    *(
        Check(
            name=f"Mirrored, {reduction}",
            look=_trains(strategy="mirrored", most=True, reduction=reduction),
            gpus=2,
        )
        for reduction in ("default", "nccl", "hierarchical", "one_device")
    ),
    Check(name="a gang with a GPU each", look=a_gang_has_a_gpu_each, gpus=2),
)
