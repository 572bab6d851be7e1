"""What the program that was handed over is seen to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scripts.command import OUT, Command, finish


@pytest.mark.parametrize(
    ("program", "came"),
    [
        ("print('8/8 - 1s - loss: 0.1')", (True, "")),
        (
            "raise ValueError('Called with:\\n  training=False')",
            (False, "ValueError: Called with:"),
        ),
        ("print('done'); raise SystemExit('no data')", (False, "no data")),
    ],
)
def test_what_a_program_did_not_do(tmp_path: Path, program: str, came: tuple[bool, str]) -> None:
    """The error that has ended it is named, and not the last line of its text."""
    (tmp_path / OUT).mkdir()
    (tmp_path / OUT / "train.py").write_text(program)
    trained, why = finish(Command(folder=tmp_path, seconds=60, environment={}))
    assert (trained, why.splitlines()[:1]) == (came[0], [f"ends in: {came[1]}"] if came[1] else [])
