"""What is said of a distributed configuration that was checked for doing the right thing."""

from enum import StrEnum

from pydantic import computed_field

from autotune.base import Derived, Scalar, Value
from autotune.reason import CheckKind, Seen
from autotune.reason.sentences import check_text


class Finding(StrEnum):
    """What a check came to."""

    PASSED = "passed"
    """What it asks is so."""
    FAILED = "failed"
    """It is not, so the configuration may not win."""
    UNDECIDED = "undecided"
    """It could not be seen; the sentence says why."""


class Check(Derived):
    """One question and its answer."""

    name: str
    """What was checked, in two or three words, as in "Certified: disjoint examples"."""
    finding: Finding
    seen: tuple[Seen, ...]

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def sentence(self) -> str:
        return " ".join(map(check_text, self.seen))


class Certificate(Value):
    """The answers for one configuration, which hold for all that are distributed like it."""

    checks: tuple[Check, ...]
    seconds: float = 0.0
    """Wall time that they took."""

    @property
    def failures(self) -> tuple[Seen, ...]:
        """Why the configuration may not win; empty if it may."""
        return tuple(s for c in self.checks if c.finding is Finding.FAILED for s in c.seen)

    @property
    def undecided(self) -> tuple[str, ...]:
        """What could not be seen, a sentence each."""
        return tuple(c.sentence for c in self.checks if c.finding is Finding.UNDECIDED)

    @property
    def line(self) -> str:
        """All of it in one line."""
        passed = ", ".join(c.name for c in self.checks if c.finding is Finding.PASSED)
        open_ = ", ".join(c.name for c in self.checks if c.finding is Finding.UNDECIDED)
        rest = f" Inconclusive: {open_}." if open_ else ""
        return f"Certified: {passed or 'nothing'}.{rest}"


def see(kind: CheckKind, **figures: Scalar) -> Seen:
    return Seen(kind=kind, figures=tuple(figures.items()))


def passed(name: str, *seen: Seen) -> Check:
    return Check(name=name, finding=Finding.PASSED, seen=seen)


def failed(name: str, *seen: Seen) -> Check:
    return Check(name=name, finding=Finding.FAILED, seen=seen)


def undecided(name: str, *seen: Seen) -> Check:
    return Check(name=name, finding=Finding.UNDECIDED, seen=seen)
