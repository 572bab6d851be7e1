"""Pieces of program text."""

from __future__ import annotations

from autotune.program.text import imports_in, sections


def test_imports_are_merged_and_sorted() -> None:
    found = imports_in(
        "import keras, tensorflow as tf\nfrom __future__ import annotations\n"
        "from collections.abc import Sequence, Callable\nfrom mine import make as model_fn\n"
        "from mine import model_fn"
    )
    assert sections(found) == (
        "from __future__ import annotations\n\n"
        "from collections.abc import Callable, Sequence\n\n"
        "import keras\nimport tensorflow as tf\n"
        "from mine import make as model_fn\nfrom mine import model_fn"
    )
