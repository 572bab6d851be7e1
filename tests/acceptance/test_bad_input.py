"""What is wrong is named, with what to do about it, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import DIGITS, Done, Run

pytestmark = pytest.mark.real

Calls = Mapping[str, Future[Done]]

GOOD = ("wrong.py:model_fn", "wrong.py:dataset_fn")
WRONG = {
    "no such file": (("nosuch.py:model_fn", GOOD[1]), "nosuch.py"),
    "no such module": (("nosuch.module:model_fn", GOOD[1]), "nosuch.module"),
    "uncompiled model": (("wrong.py:uncompiled", GOOD[1]), "compile"),
    "model factory raises": (("wrong.py:raises", GOOD[1]), "the vocabulary is missing"),
    "unknown axis": ((*GOOD, "--space", "axis.yaml"), "image_size"),
    "misspelt function": (("wrong.py:model_fun", GOOD[1]), "model_fun"),
    "misspelt strategy": ((*GOOD, "--strategies", "mirored"), "mirored"),
    "misspelt axis": ((*GOOD, "--space", "prefetsh.yaml"), "prefetsh"),
    "misspelt argument": ((*GOOD, "--model-arg", "filtres=3"), "filtres"),
    "unknown storage": ((*GOOD, "--storage", "mysql://nope/x"), "mysql://nope/x"),
    "forgotten function": (("wrong.py", GOOD[1]), "whole script"),
    "script without fit": (("no_fit.py",), "line 3 (train_on_batch)"),
    "out under a file": ((*GOOD, "--out", "wrong.py/out"), "wrong.py/out"),
}


@pytest.fixture(scope="module")
def calls(run: Run) -> Iterator[Calls]:
    """All calls of this file, two at a time, because each waits for TensorFlow's import."""
    every = {name: arguments for name, (arguments, _) in WRONG.items()}
    every["dry run"] = (*DIGITS, "--dry-run", "--space", "quick", "--out", "never")
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(run, "tune", *each) for name, each in every.items()}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_names_cause_and_next_step(calls: Calls, name: str) -> None:
    """Exit code 2, nothing on stdout, the cause and the next step at the end of stderr."""
    done = calls[name].result()
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert cause.startswith("Error: ")
    assert WRONG[name][1] in cause
    assert next_step.endswith((".", "?"))


def test_dry_run_prints_the_card(calls: Calls, project: Path) -> None:
    """Size, axes, rules and time are on stdout, and no folder appears."""
    done = calls["dry run"].result()
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    for words in ("configurations", "per_replica_batch", "at most 3 min"):
        assert words in told
    assert not (project / "never").exists()
