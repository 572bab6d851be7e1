"""A program with the numbers that AUTOTUNE settled on, in place of AUTOTUNE."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

from autotune.autotuned_values import AXES, AutotunedValue, AutotunedValues
from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.owner import Owner
from autotune.program.text import WIDTH, listing
from autotune.value import Value

AUTO = "auto"


class Frozen(Value):
    """What a program says of numbers that took AUTOTUNE's place."""

    configuration: Configuration
    """With the numbers."""
    numbers: Mapping[str, int]
    """They, by axis."""
    left: str
    """What is still left to AUTOTUNE and why, as a sentence; empty if nothing is."""
    automatic: AutotunedValues

    def comment(self, owner: Owner) -> tuple[str, ...]:
        """Return the comment above the line that holds the number of an axis."""
        if owner not in self.numbers:
            return ()
        found = self.automatic.of(owner)
        which = "; this is the largest" if len({each.value for each in found}) > 1 else ""
        return _lines(f"Was tf.data.AUTOTUNE, which chose {told(found)}{which}.")

    def comment_on_the_rest(self) -> tuple[str, ...]:
        """Return the comment on what the program cannot set."""
        return _lines(self.left) if self.left else ()


def freeze(configuration: Configuration, automatic: AutotunedValues | None) -> Frozen:
    """Return a configuration with the numbers that AUTOTUNE settled on in it.

    Raises:
        ConfigurationError: No numbers are known.
    """
    if automatic is None or automatic.why_not:
        why = automatic.why_not if automatic else "They were not read."
        raise ConfigurationError(
            f"The configuration holds no values chosen by AUTOTUNE. {why}",
            "Tune again with a larger --budget and without --no-diagnose, or omit "
            "--freeze-autotune.",
        )
    numbers = {
        str(owner): number
        for owner in AXES
        if getattr(configuration, owner) == AUTO and (number := automatic.number(owner)) is not None
    }
    return Frozen(
        configuration=configuration.but(**numbers),
        numbers=numbers,
        left=_left(automatic),
        automatic=automatic,
    )


def told(choices: tuple[AutotunedValue, ...]) -> str:
    """Return choices for people: `4 parallel calls (ParallelMapV2) and 2 batches (Prefetch)`."""
    each = dict.fromkeys(f"{each.amount} ({each.stage})" for each in choices)
    return listing([*each])


def _left(automatic: AutotunedValues) -> str:
    parts = [
        f"{where}, {told(found)}"
        for owner, where in _WHERE.items()
        if (found := automatic.of(owner))
    ]
    return f"Still tf.data.AUTOTUNE: {'; '.join(parts)}." if parts else ""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(f"# {line}" for line in wrap(text, WIDTH - 6, break_on_hyphens=False))


_WHERE = {
    Owner.FACTORY: "inside dataset_fn, where this program cannot set it",
    Owner.UNKNOWN: "in nested stages or stages rewritten by TensorFlow",
    Owner.TENSORFLOW: "by TensorFlow itself",
}
