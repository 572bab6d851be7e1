"""What a failed trial says of configurations that were not run."""

from __future__ import annotations

from collections.abc import Iterable

from autotune.config import Configuration
from autotune.run.engine import Outcome
from autotune.trial import Trial

FAILURES = 3
"""After so many failures of one strategy without a success, the rest of it is skipped."""
_BROKEN = {Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED}
_RAN = {Outcome.MEASURED, Outcome.PRUNED, Outcome.UNSTEADY}


def ruled_out(configuration: Configuration, trials: Iterable[Trial]) -> str | None:
    """Return why a configuration need not be run, as a sentence, or None if it should."""
    mine = [t for t in trials if t.configuration.strategy == configuration.strategy]
    for trial in mine:
        if trial.outcome is Outcome.OUT_OF_MEMORY and _larger(configuration, trial.configuration):
            return f"a smaller batch ran out of memory in trial {trial.number}"
    broken = [t for t in mine if t.outcome in _BROKEN]
    if len(broken) >= FAILURES and not any(t.outcome in _RAN for t in mine):
        return f"{configuration.strategy} failed {len(broken)} times: {broken[-1].reason}"
    return None


def _larger(configuration: Configuration, failed: Configuration) -> bool:
    """Whether it needs at least the memory of one that had too little."""
    family = ("workers", "replicas_per_worker", "precision", "cache", "arguments")
    same = all(getattr(configuration, name) == getattr(failed, name) for name in family)
    return same and configuration.per_replica_batch >= failed.per_replica_batch
