"""What is said of a distributed configuration that was checked for doing the right thing."""

from __future__ import annotations

from enum import StrEnum

from autotune.value import Value


class Finding(StrEnum):
    """What a check came to."""

    PASSED = "passed"
    """What it asks is so."""
    FAILED = "failed"
    """It is not, so the configuration may not win."""
    UNDECIDED = "undecided"
    """It could not be seen; the sentence says why."""


class Check(Value):
    """One question and its answer."""

    name: str
    """What was checked, in two or three words, as in "Certified: disjoint examples"."""
    finding: Finding
    sentence: str
    """What was seen, with figures."""


class Certificate(Value):
    """The answers for one configuration, which hold for all that are distributed like it."""

    checks: tuple[Check, ...]
    seconds: float = 0.0
    """Wall time that they took."""

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the configuration may not win, a sentence each; empty if it may."""
        return self._sentences(Finding.FAILED)

    @property
    def undecided(self) -> tuple[str, ...]:
        """What could not be seen, a sentence each."""
        return self._sentences(Finding.UNDECIDED)

    @property
    def line(self) -> str:
        """All of it in one line."""
        passed = ", ".join(c.name for c in self.checks if c.finding is Finding.PASSED)
        open_ = ", ".join(c.name for c in self.checks if c.finding is Finding.UNDECIDED)
        rest = f" Inconclusive: {open_}." if open_ else ""
        return f"Certified: {passed or 'nothing'}.{rest}"

    def _sentences(self, finding: Finding) -> tuple[str, ...]:
        return tuple(each.sentence for each in self.checks if each.finding is finding)


def passed(name: str, sentence: str) -> Check:
    """Return a check that found all well."""
    return Check(name=name, finding=Finding.PASSED, sentence=sentence)


def failed(name: str, sentence: str) -> Check:
    """Return a check that found a mistake."""
    return Check(name=name, finding=Finding.FAILED, sentence=sentence)


def undecided(name: str, sentence: str) -> Check:
    """Return a check that could not see."""
    return Check(name=name, finding=Finding.UNDECIDED, sentence=sentence)
