"""How much memory a trial holds and may hold."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from autotune.engine import load
from autotune.engine.load import MemoryGauge


class Process:
    def __init__(self, rss: int, pss: int, shared: int = 10) -> None:
        self.rss = rss
        self.pss = pss
        self.shared = shared

    def memory_info(self) -> Process:
        return self

    def memory_full_info(self) -> Process:
        return self

    def children(self, *, recursive: bool) -> list[Process]:
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
    found = load.available(tmp_path)
    assert found == free if free is not None else found > 10**6


def test_kills_by_the_kernel_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "vmstat"
    file.write_text("pgfault 7\noom_kill 3\n")
    assert load.kernel_kills(file) == 3
    assert load.kernel_kills(tmp_path / "missing") == 0
