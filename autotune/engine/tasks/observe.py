"""A program that is run for a few steps, with an observer attached to each of its processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from autotune.base import Value
from autotune.engine.base import RunResult
from autotune.engine.folder import TrialFolder
from autotune.engine.tasks.train import TrialTask
from autotune.reason import Outcome, Reason

Kind = Literal["trainable", "state", "optimizer", "random"]
"""What a variable is for: weights that are learned, other weights, the optimizer's own variables,
and the state of a generator of random numbers."""
Numbers = tuple[float, ...]


class Reader(Value):
    """The input of one replica."""

    sizes: Numbers
    """Examples in each batch, in order."""
    elements: tuple[str, ...]
    """Structure, types and shapes of the batches, each different one once."""
    examples: Mapping[str, int] | None
    """How often each example was read, by a fingerprint; None where examples are not tensors."""


class Variable(Value):
    """A variable of the model or the optimizer."""

    name: str
    kind: Kind
    epsilon: float
    """Relative size of a rounding in its type; 0 for whole numbers."""
    copies: int
    """Of it in this process."""
    mirrored: bool
    """Whether the strategy knows it as one variable with a copy for each replica."""
    apart: bool
    """Whether its copies differ on purpose until it is read."""


class Copy(Value):
    """All variables of one replica, as sketches that keep distances (see `sketch`)."""

    start: tuple[Numbers, ...]
    """Before the first step, in the order of the variables; optimizers may have none yet."""
    end: tuple[Numbers, ...]
    """After the last step."""


class RankObservation(Value):
    """Observations in one process, or in one run of a reference."""

    readers: tuple[Reader, ...] = ()
    """One for each replica of the process."""
    variables: tuple[Variable, ...]
    copies: tuple[Copy, ...]
    """One for each replica of the process."""
    losses: Numbers
    """The loss that each call logged, over all replicas."""
    silenced: tuple[str, ...] = ()
    """Kinds of layers that computed as in inference, so that runs can be compared."""


class Whole(Value):
    """All examples of the dataset."""

    examples: Mapping[str, int]
    complete: bool
    """Whether the time sufficed for all of them."""


class Observation(Value):
    """The end of a run, and the observations in it."""

    failure: Reason | None = None
    """Why it did not come to its end."""
    ranks: tuple[RankObservation, ...] = ()
    """One for each process; of a reference, one for each of its runs."""
    whole: Whole | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ObservationRequest(TrialTask[Observation]):
    """A program to be run for a few steps, with an observer attached to each of its processes.

    The observer reads some steps of each replica's input, then has the program train on the first
    of them again and again. A reference trains one device on the same batches.
    """

    code = "autotune.engine.child.observe:observe"

    calls: int
    """Calls of the training step."""
    reads: int = 0
    """Steps of input that are read and counted."""
    kept: int = 0
    """Of these, how many the training uses."""
    reference_to: Path | None = None
    """The folder of the run whose batches and first weights this one takes; None for that run."""
    processes: int = 1
    """Processes of that run."""
    counting_seconds: float = 0.0
    """Longest time for counting the whole dataset, in a reference; 0 leaves it out."""
    batched: bool = False
    """Whether the dataset factory batches by itself."""

    def payload(self) -> Mapping[str, Any]:
        return {**super().payload(), "reference_to": self.reference_to is not None}

    def prepare(self, folder: TrialFolder) -> None:
        super().prepare(folder)
        if self.reference_to is not None:
            folder.reference.symlink_to(self.reference_to.absolute())

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Observation:
        if result.outcome is not Outcome.MEASURED:
            return Observation(failure=result.reason, seconds=result.wall_seconds)
        return Observation.model_validate(
            {
                "ranks": [each for answer in answers for each in answer["ranks"]],
                "whole": answers[0].get("whole"),
                "seconds": result.wall_seconds,
            }
        )
