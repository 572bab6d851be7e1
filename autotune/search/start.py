"""What earlier searches let a search expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.config import Configuration
from autotune.measure import Noise
from autotune.past.relative import relative
from autotune.past.store import Past


@dataclass(frozen=True, kw_only=True)
class Start:
    """What is expected before the first trial. It may be wrong: machines change."""

    known: Mapping[Configuration, float]
    """log(rate) relative to the best single device, of what was tried before with this workload."""
    noise: Noise | None
    """Between-run noise of this machine, whatever was trained on it."""

    def __str__(self) -> str:
        """Say what the search begins with; nothing where it begins with nothing."""
        parts = []
        if self.known:
            count = len(self.known)
            parts.append(f"{count} configuration{'s' * (count != 1)} of this workload tried")
        if self.noise is not None:
            parts.append(f"run-to-run variation of {self.noise.sd:.0%}")
        return f"Earlier searches on this machine: {', '.join(parts)}." if parts else ""


NOTHING = Start(known={}, noise=None)
"""The first search on a machine."""


def start_from(past: Past, machine: str, workload: str) -> Start:
    """Return what past searches say.

    Args:
        past: What they measured.
        machine: Fingerprint of the machine.
        workload: Fingerprint of what is trained.
    """
    return Start(known=relative(past.measurements(machine, workload)), noise=past.noise(machine))
