"""What `autotune verify` found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from autotune.result.tables import marked, named
from autotune.strategies import in_short
from autotune.text import plural, rate_with_error, roughly, share
from autotune.verification.answer import Verification


def document(found: Verification) -> str:
    """Return it as JSON; the trials come without their windows."""
    windows = {"trials": {"__all__": {"windows"}}}
    return found.model_dump_json(indent=2, exclude=windows) + "\n"


def verification_text(found: Verification) -> RenderableType:
    """Return the answer, what it rests on, and what else should be known."""
    notes = [marked(" - ", Text(note)) for note in found.notes]
    count = f"{plural(len(found.trials), 'run')} in {roughly(found.seconds)}."
    head = Text(found.summary, style="bold")
    return Group(head, named(_verified(found), "  "), *notes, Text(count, style="dim"))


def _verified(found: Verification) -> Iterator[tuple[str, str]]:
    yield "recommended", f"{in_short(found.configuration)} ({found.verdict})"
    if found.challenger:
        yield "compared with", in_short(found.challenger)
    if found.ratio:
        yield "ratio", share(found.ratio)
    if found.examples_per_second:
        yield "examples/s", rate_with_error(found.examples_per_second)
    if found.ratio_to_expected and found.expected:
        expected = rate_with_error(found.expected)
        yield "vs saved", f"{share(found.ratio_to_expected)} of {expected}"
