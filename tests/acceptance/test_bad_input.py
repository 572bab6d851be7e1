"""What is wrong is named, with what to do about it, before anything runs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

Run = Callable[..., subprocess.CompletedProcess[str]]
MODEL, DATASET = "wrong.py:model_fn", "wrong.py:dataset_fn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nosuch.py:model_fn", DATASET), "nosuch.py"),
        (("nosuch.module:model_fn", DATASET), "nosuch"),
        (("wrong.py:nosuch", DATASET), "nosuch"),
        (("wrong.py:uncompiled", DATASET), "compile"),
        (("wrong.py:raises", DATASET), "the vocabulary is missing"),
        ((MODEL, "wrong.py:empty"), "example"),
        ((MODEL, DATASET, "--space", "axis.yaml"), "image_size"),
        ((MODEL, DATASET, "--out", "wrong.py/out"), "wrong.py/out"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_wrong_call_names_cause_and_next_step(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    """Exit code 2, nothing on stdout, the cause and the next step at the end of stderr."""
    done = run("tune", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert cause.startswith("Error: ")
    assert next_step.endswith(".")


def test_dry_run_prints_the_card(run: Run, project: Path) -> None:
    """Size, axes, rules and time are on stdout, and no folder appears."""
    done = run("tune", MODEL, DATASET, "--space", "quick", "--dry-run", "--out", "never")
    assert done.returncode == 0, done.stderr
    for word in ("configurations", "per_replica_batch", "at most 3 min"):
        assert word in done.stdout
    assert not (project / "never").exists()
