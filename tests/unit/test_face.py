"""What an option is called, by what a reader has called."""

import pytest

from autotune.errors import UsageError
from autotune.face import Face, for_face, shown_by

ADVICE = (
    "Pass --resume, --global-batch 64 or --sampler AUTO, omit --no-wait and --model-arg, or run "
    "`ray start --address=...` -- and that."
)


PYTHON = (
    "Pass `resume=True`, `global_batch=64` or `sampler='AUTO'`, omit `wait=False` and "
    "`model_args`, or run `ray start --address=...` -- and that."
)
SERVICE = (
    'Pass `"resume": true`, `"global_batch": 64` or `"sampler": "AUTO"`, omit `"wait": false` and '
    "`model_args`, or run `ray start --address=...` -- and that."
)


@pytest.mark.parametrize(
    ("face", "told"),
    [(Face.COMMAND, ADVICE), (Face.PYTHON, PYTHON), (Face.SERVICE, SERVICE)],
)
def test_each_face_names_what_it_has(face: Face, told: str) -> None:
    """Other programs' options stay, and what was named once is not named again."""
    with shown_by(face):
        assert for_face(ADVICE) == told
        assert for_face(told) == told
        assert UsageError("No.", ADVICE).next_step == told


def test_an_error_goes_from_face_to_face() -> None:
    """What carries it keeps the flags, so that whoever shows it can name them."""
    with shown_by(Face.SERVICE):
        error = UsageError("No.", "Omit --unbatch.")
    assert error.advice == "Omit --unbatch."
    assert str(error) == "No. Omit `unbatch=True`."
    with shown_by(Face.COMMAND):
        assert str(error) == "No. Omit --unbatch."
