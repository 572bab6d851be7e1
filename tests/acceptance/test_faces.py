"""What a search says in Python, whose reader has no command line."""

import os
import re
import subprocess
import sys
from pathlib import Path

from .conftest import PATH

PROGRAM = """
import autotune, promised

def model_fn(): ...
def dataset_fn(): ...

tuner = autotune.Tuner(engine=promised.slow(), progress=True)
asked = {"space": "quick", "out": "out"}
result = tuner.tune(model_fn, dataset_fn, budget=100, **asked)
print(result, *result.reasons)
for more in ({"study": "mine", "resume": True}, {"study": "model_fn"}, {"out": "/proc/no"}):
    try:
        tuner.tune(model_fn, dataset_fn, max_trials=1, **{**asked, **more})
    except autotune.AutotuneError as error:
        print(error, error.next_step)
"""


def test_python_is_told_of_keywords(tmp_path: Path) -> None:
    """In the progress, in the result, and in errors, which name flags on the command line."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, **PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = done.stderr + done.stdout
    assert "omit `resume=True`" in told
    assert "Choose another `out`." in told
    assert re.findall(r"(?<![\w-])--[a-z][a-z-]+|same command", told) == []
