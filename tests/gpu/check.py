"""Checks with a name, what they need, and an outcome with its evidence; and their table."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

NOTHING_CHECKED = 77
"""Exit status where there is no GPU, as test harnesses know a test that was skipped."""
FAILED = 1


class Kind(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    """What must hold does not."""
    BROKE = "broke"
    """It ended with an error, so nothing is known."""
    TIMED_OUT = "timed out"
    SKIPPED = "not checked"
    """There are too few GPUs for it, or no time was left."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    kind: Kind
    evidence: str
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Check:
    """Something that must hold on a machine with GPUs."""

    name: str
    look: Callable[[Any], str]
    """Returns the evidence that it holds.

    Raises:
        AssertionError: It does not; the text is the evidence.
    """
    gpus: int = 1
    """How many it needs."""
    seconds: float = 90.0


class CheckTimedOut(BaseException):
    """A check took too long; no handler for errors may take it for one of these."""


def run(checks: Sequence[Check], subject: Any, gpus: int, seconds: float) -> dict[str, Finding]:
    """Return what each check found, in their order.

    Args:
        checks: What to look at.
        subject: What every check is given.
        gpus: How many there are.
        seconds: For all of them.
    """
    end = time.monotonic() + seconds
    return {each.name: _found(each, subject, gpus, end - time.monotonic()) for each in checks}


def _found(check: Check, subject: Any, gpus: int, left: float) -> Finding:
    if gpus < check.gpus:
        return Finding(kind=Kind.SKIPPED, evidence=f"needs {check.gpus} GPUs, there is {gpus}")
    if left <= 0:
        return Finding(kind=Kind.SKIPPED, evidence="no time was left")
    began = time.monotonic()
    kind, evidence = _looked(check, subject, min(check.seconds, left))
    return Finding(kind=kind, evidence=evidence, seconds=time.monotonic() - began)


def _looked(check: Check, subject: Any, seconds: float) -> tuple[Kind, str]:
    try:
        with _within(seconds):
            return Kind.PASSED, check.look(subject)
    except AssertionError as exc:
        return Kind.FAILED, str(exc) or "it does not hold"
    except CheckTimedOut:
        return Kind.TIMED_OUT, f"took longer than {seconds:.0f} s"
    except Exception as exc:  # noqa: BLE001 - the others are to be checked all the same
        return Kind.BROKE, f"{type(exc).__name__}: {exc}"


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise CheckTimedOut

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def status(found: dict[str, Finding]) -> int:
    """Return the exit status: 0 where all that was checked holds, and something was."""
    kinds = {each.kind for each in found.values()}
    if kinds <= {Kind.SKIPPED}:
        return NOTHING_CHECKED
    return 0 if kinds <= {Kind.PASSED, Kind.SKIPPED} else FAILED


def table(found: dict[str, Finding]) -> str:
    rows = [
        f"| {name} | {each.kind} | {each.seconds:.0f} s | {_cell(each.evidence)} |"
        for name, each in found.items()
    ]
    return "\n".join(["| check | outcome | took | evidence |", "| --- | --- | ---: | --- |", *rows])


def _cell(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= 300 else f"{line[:299]}…"
