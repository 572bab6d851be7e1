"""The first real trouble is the one told."""

from __future__ import annotations

from autotune.reason import Message
from autotune.run.blame import GRACE, Ending, Trouble, blame
from autotune.run.engine import Outcome


def trouble(at: float, reason: str, *, consequence: bool = False) -> Trouble:
    return Trouble(
        at=at, ending=Ending(Outcome.FAILED, Message(text=reason)), consequence=consequence
    )


def test_no_trouble_no_ending() -> None:
    """A healthy gang goes on."""
    assert blame((), now=5.0) is None


def test_the_first_cause_wins() -> None:
    """Of several causes the earliest is told, in whatever order they are heard."""
    ending = blame((trouble(2, "later"), trouble(1, "first")), now=2)
    assert ending is not None
    assert ending.reason == Message(text="first")


def test_a_cause_beats_earlier_consequences() -> None:
    """A consequence that is heard first is not told once the cause is known."""
    ending = blame((trouble(1, "socket", consequence=True), trouble(2, "cause")), now=2)
    assert ending is not None
    assert ending.reason == Message(text="cause")


def test_a_lone_consequence_waits_for_its_cause() -> None:
    """It becomes the reason only when nothing better shows itself in time."""
    lone = (trouble(1, "socket", consequence=True),)
    assert blame(lone, now=1 + GRACE / 2) is None
    ending = blame(lone, now=1 + 2 * GRACE)
    assert ending is not None
    assert ending.reason == Message(text="socket")
