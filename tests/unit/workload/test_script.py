"""Which script is meant, which of its calls of `fit`, and a notebook's cells as Python."""

import json
from pathlib import Path

import pytest

from autotune.errors import FactoryNotFound, ScriptFailed
from autotune.library.keras_notebook import python_of_cell
from autotune.workload import Script, script_from_text

TEXT = """\
scaler.fit(x)
teacher.fit(
    x, y,
    epochs=3,
)
for _ in range(2):
    make().model.fit(x)
"""
HEAD = "import keras, numpy as np\n"
STEP = (
    "class Net(keras.Model):\n    def train_step(self, data):\n        self.o.apply_gradients(1)\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TEXT)
    (tmp_path / "loops.py").write_text("def go(m):\n    while True: m.train_on_batch(1, 2)\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "parts" / "fits.py").write_text("from ..loops import go\ndef run(m): m.fit(1)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("fit", "line", "number"),
    [
        (None, None, None),
        (2, None, 2),
        ("2", None, 2),
        ("teacher", 2, None),
        ("make().model", 7, None),
        ("line 7", 7, None),
    ],
)
def test_a_fit_is_chosen_by_number_name_or_line(
    fit: str | int | None, line: int | None, number: int | None
) -> None:
    """A number is that among the lines which the run comes to; so is the first without one."""
    assert script_from_text("train.py", ["-v"], fit) == Script(
        path="train.py", arguments=("-v",), fit=line, number=number
    )


@pytest.mark.parametrize("fit", ["0", "student", "line 3"])
def test_a_fit_that_is_not_there_is_an_error(fit: str) -> None:
    listed = r"line 1 \(scaler\); line 2 \(teacher\); line 7 \(make"
    with pytest.raises(FactoryNotFound, match=f"no call of fit .*{listed}"):
        script_from_text("train.py", (), fit)


def test_a_script_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FactoryNotFound, match=r"File other.py not found"):
        script_from_text("other.py")


def test_a_notebook_is_its_cells_without_magics(here: Path) -> None:
    cells = [("markdown", "# Title"), ("code", "%pip install x\n!ls\nx = 1"), ("code", "%%bash\na")]
    cells += [("code", "if x:\n    !ls\n    model.fit(x)")]
    found = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    (here / "book.ipynb").write_text(json.dumps({"cells": found}))
    assert script_from_text("book.ipynb", (), "model") == Script(
        path="book.ipynb", notebook=True, fit=8
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("while True: m.train_on_batch(1, 2)", r"line 2 \(train_on_batch\)"),
        ("import gym\nwhile True: o.apply_gradients(1)", r"line 3 \(apply_gradients\)"),
        ("with tf.GradientTape() as t: pass\no.apply(1)", r"line 2 \(GradientTape\)"),
        ("import jax\nf = jax.value_and_grad(g)", r"line 3 \(value_and_grad\)"),
        ("import loops\nloops.go(m)", r"line 2 of loops.py \(train_on_batch\)"),
        (STEP + "m.train_on_batch(1)", r"line 5 \(train_on_batch\)"),
        ("m = keras.Sequential()\nm.summary()", "nor does what it imports"),
    ],
)
def test_a_script_without_fit_is_told_with_its_loop(here: Path, text: str, told: str) -> None:
    """And with what to do; nothing of it is run."""
    (here / "train.py").write_text(HEAD + text)
    with pytest.raises(ScriptFailed, match=f"train.py calls no fit of Keras.*{told}") as caught:
        script_from_text("train.py")
    assert "model_fn" in caught.value.next_step


@pytest.mark.parametrize(
    "text",
    [
        "m.fit(1)",
        "getattr(m, 'fit')(1)",
        "fit = m.fit\nm.train_on_batch(1)\nfit(1)",
        "from parts.fits import run\nm.train_on_batch(1)\nrun(m)",
        "from parts import fits\nfits.run(m)",
        "exec(open('other.py').read())\nm.train_on_batch(1)",
        "import keras_tuner\nkeras_tuner.Hyperband().search(1)",
        STEP + "import library\nlibrary.run(Net())",
        "from library import run\nrun(m)",
        "m.train_on_batch(1, 2)\ndef made(): return m\nmade().fit(1)",
    ],
)
def test_what_may_come_to_a_fit_is_run(here: Path, text: str) -> None:
    (here / "train.py").write_text(HEAD + text)
    assert script_from_text("train.py").path == "train.py"


@pytest.mark.parametrize("library", ["torch", "jax", "lightning"])
def test_a_script_of_another_framework_is_told(here: Path, library: str) -> None:
    (here / "train.py").write_text(f"import {library}.nn as nn\nnn.Trainer().fit(1)")
    with pytest.raises(ScriptFailed, match=f"trains with {library}, and not with Keras"):
        script_from_text("train.py")


def test_a_script_that_python_cannot_read_is_told(here: Path) -> None:
    (here / "train.py").write_text("model.fit(1)\ndef (:")
    with pytest.raises(FactoryNotFound, match=r"train.py cannot be read as Python.*line 2"):
        script_from_text("train.py")


def test_a_notebook_may_run_another_file(here: Path) -> None:
    cells = [{"cell_type": "code", "source": ["%run other.py\n", "x = 1"]}]
    (here / "train.ipynb").write_text(json.dumps({"cells": cells}))
    assert script_from_text("train.ipynb").notebook


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("!pip install a \\\n  b\nx = 1", "pass  # !pip install a\n\nx = 1"),
        ("if x:\n    !ls 'it", "if x:\n    pass  # !ls 'it"),
        ("tf.data?\n?x", "pass  # tf.data?\npass  # ?x"),
        ("%time f(x)\n%timeit f(x)", "f(x)\npass  # %timeit f(x)"),
        ("# First\n%%time\nf(x)", "# First\npass  # %%time\nf(x)"),
        ("%%bash\necho (", "# %%bash\n# echo ("),
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
    ],
)
def test_what_jupyter_adds_is_a_comment(cell: str, python: str) -> None:
    """On lines of its own, as everything else; a cell or a statement that is timed is run."""
    assert python_of_cell(cell) == python


@pytest.mark.parametrize("cell", ["x = (5\n% 3)", "'''\n! not a command\n'''", "y = (", "x = !ls"])
def test_python_stays_as_it_is(cell: str) -> None:
    assert python_of_cell(cell) == cell
