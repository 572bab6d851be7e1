"""What processes on this machine are told of their GPUs."""

from __future__ import annotations

import pytest

from autotune.engine.local import environments_of
from autotune.roles import Role


@pytest.mark.parametrize(
    ("allowed", "gpus", "told"),
    [
        (None, (1, 3), "1,3"),
        ("4,5,6,7", (1, 3), "5,7"),
        ("GPU-8932f937, GPU-1f5a2b3c", (1,), "GPU-1f5a2b3c"),
        ("2,3", (), ""),
    ],
)
def test_gpus_are_taken_from_those_that_are_allowed(
    monkeypatch: pytest.MonkeyPatch, allowed: str | None, gpus: tuple[int, ...], told: str
) -> None:
    """TensorFlow counts visible GPUs from 0; a process is told what CUDA calls them."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if allowed:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    (environment,) = environments_of((Role(gpus=gpus),), ("",))
    assert environment["CUDA_VISIBLE_DEVICES"] == told


def test_gpus_that_nobody_divides_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a machine without GPUs keeps the variable as it is."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (environment,) = environments_of((Role(),), ("",))
    assert "CUDA_VISIBLE_DEVICES" not in environment
