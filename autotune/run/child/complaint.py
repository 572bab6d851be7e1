"""How a process that looks at the factories tells what is wrong with them."""

from __future__ import annotations


class Complaint(Exception):
    """A factory does not fulfil its contract.

    Args:
        kind: Name of the class in `autotune.errors` that the tuner raises.
        cause: What is wrong, as a sentence.
        next_step: What to do about it, as a sentence.
    """

    def __init__(self, kind: str, cause: str, next_step: str) -> None:
        super().__init__(cause)
        self.kind = kind
        self.cause = cause
        self.next_step = next_step


def not_found(cause: str, next_step: str) -> Complaint:
    """Return the complaint that a factory cannot be imported."""
    return Complaint("FactoryNotFound", cause, next_step)


def failed(cause: str, next_step: str) -> Complaint:
    """Return the complaint that a factory raised or returned the wrong thing."""
    return Complaint("FactoryFailed", cause, next_step)


def too_small(cause: str, next_step: str) -> Complaint:
    """Return the complaint that the dataset holds too little."""
    return Complaint("DatasetTooSmall", cause, next_step)
