"""What is wrong is named, with what to do about it, before anything runs."""

from __future__ import annotations

import pytest

from .conftest import Run

pytestmark = pytest.mark.real

GOOD = ("wrong.py:model_fn", "wrong.py:dataset_fn")
WRONG = {
    "no such file": (("nosuch.py:model_fn", GOOD[1]), "nosuch.py"),
    "model factory raises": (("wrong.py:raises", GOOD[1]), "the vocabulary is missing"),
    "misspelt axis": ((*GOOD, "--space", "prefetsh.yaml"), "prefetsh"),
    "forgotten function": (("wrong.py", GOOD[1]), "whole script"),
    "out under a file": ((*GOOD, "--out", "wrong.py/out"), "wrong.py/out"),
}
"""One mistake of each kind; the unit tests have the others."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_names_cause_and_next_step(run: Run, name: str) -> None:
    """Exit code 2, nothing on stdout, the cause and the next step at the end of stderr."""
    arguments, named = WRONG[name]
    done = run("tune", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert cause.startswith("Error: ")
    assert named in cause
    assert next_step.endswith((".", "?"))
