"""What a message of a search adds to the record."""

from __future__ import annotations

from autotune.api.isolation import Network
from autotune.api.work.messages import Begun
from autotune.api.work.reports import report
from autotune.events import Notice


def test_the_beginning_tells_which_network_the_search_has() -> None:
    """Whoever follows the job learns it, and the search's time begins."""
    text = str(Network(own=False, why="not permitted"))
    made = report(1, Begun(network=text))
    assert made.began
    assert made.events == (Notice(text=text),)
    assert "not permitted" in text


def test_a_beginning_that_tells_nothing_adds_no_note() -> None:
    """The search's time begins all the same."""
    made = report(1, Begun())
    assert made.began
    assert made.events == ()
