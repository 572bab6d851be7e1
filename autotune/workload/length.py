"""How long the training is that a search is made for: the seconds that it can save."""

from enum import StrEnum

from autotune.base import Value
from autotune.workload.facts import WorkloadFacts, own_batch

ASSUMED_SECONDS = 3600.0
"""Length of a training of which nothing is known."""


class LengthSource(StrEnum):
    """Where the length of a training comes from."""

    SCRIPT = "script"
    """The epochs and steps of the script's own `fit`."""
    EPOCHS = "epochs"
    """The user's number of epochs."""
    TRAIN_FOR = "train_for"
    """The user's own time."""
    ASSUMED = "assumed"
    """Nothing is known: an hour."""


class Length(Value):
    """Length of a training by the user's own settings: `examples`, or else `seconds`, are known."""

    source: LengthSource = LengthSource.ASSUMED
    epochs: int | None = None
    """None where only a time is known."""
    examples: float | None = None
    """All examples that the training presents, each epoch counted; None where a time is known."""
    seconds: float | None = ASSUMED_SECONDS
    """Seconds in which the own settings take all steps; None where they follow from `examples`."""
    between: float = 0.0
    """Seconds that no setting changes: validation, callbacks and checkpoints between epochs."""
    at_most: bool = False
    """Whether it may end before, such as by EarlyStopping."""

    def seconds_at(self, examples_per_second: float | None) -> float | None:
        """Return the time of the whole training where the own settings reach a rate.

        None where that follows from a rate that is not known.
        """
        if self.examples is None:
            return self.between + (self.seconds or 0.0)
        if not examples_per_second:
            return None
        return self.between + self.examples / examples_per_second


def length_of(
    facts: WorkloadFacts, *, epochs: int | None = None, train_for: float | None = None
) -> Length:
    """Return how long a training is by the user's own settings; an hour where nothing tells.

    Args:
        facts: Of its workload.
        epochs: The user's number of epochs, which counts before that of a script.
        train_for: The user's own time in seconds, which counts before all epochs.
    """
    if train_for is not None:
        return Length(source=LengthSource.TRAIN_FOR, seconds=train_for)
    fit = facts.fit
    of_script = fit.epochs if fit and not fit.loop else None
    many = epochs or of_script
    if many is None or facts.examples is None:
        return Length()
    return Length(
        source=LengthSource.EPOCHS if epochs else LengthSource.SCRIPT,
        epochs=many,
        examples=many * facts.examples,
        seconds=None,
        between=many * facts.between_seconds,
        at_most=bool(fit and fit.may_stop),
    )


def own_rate(facts: WorkloadFacts) -> float | None:
    """Return the rough examples per second of a script's own `fit`; None where it was not timed."""
    return own_batch(facts).size / facts.own_step_seconds if facts.own_step_seconds else None


def why_assumed(facts: WorkloadFacts) -> str:
    """Return why nothing is known of the length of a training, as a clause."""
    fit = facts.fit
    if fit is None:
        return "two functions do not tell how many epochs it has"
    if fit.loop:
        return f"line {fit.loop} calls fit again and again"
    if facts.examples is None:
        return "nobody knows how many examples an epoch has"
    return "the script does not tell how many epochs it has"
