"""A notebook's cells as Python."""

from __future__ import annotations

import pytest

from autotune.library.keras_notebook import python_of_cell


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
