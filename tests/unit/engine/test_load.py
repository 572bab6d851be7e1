"""What other programs take of the cores, and what a trial holds of the memory."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import psutil
import pytest

from autotune.engine import local
from autotune.engine.load import (
    Counters,
    Load,
    MemoryGauge,
    available,
    between,
    kernel_kills,
    read_counters,
    remark,
    warning,
)


def seen(at: float, **counters: Any) -> Counters:
    zeros = {"busy": 0.0, "stolen": 0.0, "own": 0.0, "others": {}}
    return Counters(at=at, cores=2, **{**zeros, **counters})


def load(busy: float = 0.0, stolen: float = 0.0, **other: Any) -> Load:
    return Load(**{"seconds": 10.0, "cores": 2, "busy": busy, "stolen": stolen, **other})


def test_what_is_not_ours_is_others() -> None:
    """Mean cores over the time between two looks; our own processes do not count."""
    first = seen(0.0, busy=100.0, own=50.0, stolen=1.0)
    last = seen(10.0, busy=120.0, own=57.0, stolen=3.0)
    found = between(first, last)
    assert (found.busy, found.stolen, found.seconds) == pytest.approx((1.3, 0.2, 10.0))


def test_the_busiest_program_is_named() -> None:
    """By what it used meanwhile, not by what it had used before."""
    first = seen(0.0, others={"old (pid 1)": 900.0})
    last = seen(10.0, others={"old (pid 1)": 901.0, "new (pid 2)": 5.0, "none (pid 3)": 0.0})
    assert between(first, last).busiest == "new (pid 2)"
    assert between(first, seen(10.0, others={"old (pid 1)": 900.1})).busiest is None


def test_a_warning_says_how_much_and_who() -> None:
    """In one sentence, with what it means."""
    assert warning(load(1.3, busiest="python (pid 77)")) == (
        "Other programs use 1.3 of 2 cores, mostly python (pid 77): timings will be noisier. "
        "Wait until it is quiet, or plan twice the time."
    )


def test_a_remark_speaks_of_the_past() -> None:
    """It stands among the reasons of the verdict; stolen time is told apart."""
    assert remark(load(1.3, stolen=0.4)) == (
        "During the search, on average, other programs used 1.3 of 2 cores, and the hypervisor "
        "withheld 0.4 of 2 cores; this made timings noisier, and what is best on a machine this "
        "busy may not be best on a quiet one: if that is where you will train, search again there."
    )
    assert warning(load(stolen=0.4)) == (
        "The hypervisor withholds 0.4 of 2 cores: timings will be noisier. Wait until it is quiet, "
        "or plan twice the time."
    )


@pytest.mark.parametrize("quiet", [load(0.19), load(1.9, seconds=0.1), load(1.9, cores=64), None])
def test_little_is_not_worth_a_word(quiet: Load | None) -> None:
    """A tenth of the cores disturbs; a moment says too little, and who cannot tell, nothing."""
    assert warning(quiet) is None
    assert remark(quiet) is None


def test_the_load_begins_anew_with_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time before the search and the search itself are told apart."""
    looks = iter([seen(0.0), seen(10.0, busy=20.0), seen(20.0, busy=21.0)])
    monkeypatch.setattr(local, "read_counters", lambda: next(looks))
    engine = local.LocalEngine()
    found = [engine.load() for _ in range(3)]
    engine.close()
    assert [each and each.busy for each in found] == [None, pytest.approx(2.0), pytest.approx(0.1)]


def test_only_cores_that_we_may_use_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the kernel lists those of others too; waiting and interrupts are no use."""
    tick = os.sysconf("SC_CLK_TCK")
    line = f"{tick} {2 * tick} {3 * tick} 900 900 900 900 {4 * tick} 0 0"
    (tmp_path / "stat").write_text(f"cpu {line}\ncpu0 {line}\ncpu1 {line}\nintr 1\n")
    monkeypatch.setattr(psutil, "cpu_times", cpu_times_of(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    found = read_counters()
    assert (found.busy, found.stolen) == (6.0, 4.0)


def test_a_thread_of_the_kernel_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    times = SimpleNamespace(user=1.0, system=1.0)
    seen = [
        SimpleNamespace(pid=-pid, info={"name": name, "cpu_times": times, "cmdline": words})
        for pid, name, words in [(1, "kworker/0:1", []), (2, "python", ["python", "-c", "1"])]
    ]
    monkeypatch.setattr(psutil, "process_iter", lambda _: seen)
    assert dict(read_counters().others) == {"python (pid -2)": 2.0}


def cpu_times_of(folder: Path) -> Callable[..., Any]:
    original = psutil.cpu_times

    def read(**options: bool) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psutil, "PROCFS_PATH", str(folder))
            return original(**options)

    return read


class Process:
    def __init__(self, rss: int, pss: int, shared: int = 10) -> None:
        self.rss = rss
        self.pss = pss
        self.shared = shared

    def memory_info(self) -> Self:
        return self

    memory_full_info = memory_info

    def children(self, *, recursive: bool) -> list["Process"]:
        return [Process(100, 50), Process(100, 50)] if recursive else []


@pytest.mark.parametrize(
    ("most", "verdict"),
    [(250, "within"), (150, "within"), (90, "exceeded")],
    ids=["free", "shared", "full"],
)
def test_shared_pages_count_once_when_it_matters(
    monkeypatch: pytest.MonkeyPatch, most: int, verdict: str
) -> None:
    """A ceiling is passed only if the exact sum passes it."""
    monkeypatch.setattr(psutil, "Process", lambda _: Process(60, 60, shared=40))
    gauge = MemoryGauge(1, most)
    assert gauge.exceeded() is (verdict == "exceeded")
    # Each would have loaded the libraries of the process that both are forked from.
    assert gauge.peak == 2 * (100 - 10 + 40)


@pytest.mark.parametrize(
    ("limit", "used", "free"), [("1000", "400", 600), ("1000", "2000", 0), ("max", "400", None)]
)
def test_a_container_may_have_less_than_the_machine(
    tmp_path: Path, limit: str, used: str, free: int | None
) -> None:
    """The limit of a control group counts where there is one."""
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    found = available(tmp_path)
    assert found == free if free is not None else found > 10**6


def test_kills_by_the_kernel_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "vmstat"
    file.write_text("pgfault 7\noom_kill 3\n")
    assert kernel_kills(file) == 3
    assert kernel_kills(tmp_path / "missing") == 0
