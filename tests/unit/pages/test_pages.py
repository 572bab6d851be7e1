"""The pages that follow from the code are as they would be written today."""

from __future__ import annotations

import pytest

from autotune.config import axes
from autotune.space import ready_made
from autotune.strategies import strategies
from documentation.pages import DOCS, MARK, joined, read
from documentation.write import pages

WRITTEN = pages()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_is_current(name: str) -> None:
    """`make docs` writes it again."""
    assert read(name) == joined(WRITTEN[name], read(name))


def test_no_page_is_of_something_that_is_gone() -> None:
    """A strategy or axis that was removed leaves no page behind."""
    assert {each.stem for each in (DOCS / "axes").glob("*.md")} == set(axes())
    assert {each.stem for each in (DOCS / "strategies").glob("*.md")} == set(strategies())


def test_what_stands_by_hand_is_kept() -> None:
    """Writing a page again changes only the part that follows from the code."""
    before = joined("# old\n", f"{MARK}\nmine\n")
    assert joined("# new\n", before) == f"# new\n\n{MARK}\nmine\n"
    assert joined("# new\n", "# old\n") == "# new\n"


def test_a_page_says_what_the_declaration_says() -> None:
    """Values of the spaces, reasons of refusal and the axis's own sentence are there."""
    page = WRITTEN["axes/steps_per_execution.md"]
    assert "Training steps per call" in page
    assert all(str(each) in page for each in ready_made()["tpu"].axes["steps_per_execution"])
    assert "XLA compiles for one device" in WRITTEN["strategies/mirrored.md"]
    assert "`--resume`" in WRITTEN["commands.md"]
