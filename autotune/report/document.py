"""The result as one JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autotune.automatic import Automatic
from autotune.config import Configuration
from autotune.measure import Interval
from autotune.recommendation import Recommendation, Verdict
from autotune.report.files import written
from autotune.trial import Trial
from autotune.value import Value


class ResultDocument(Value):
    """What `autotune tune --json` prints."""

    verdict: Verdict
    summary: str
    reasons: tuple[str, ...]
    configuration: Configuration
    global_batch: int
    examples_per_second: Interval | None
    speedup: Interval
    distributed_speedup: Interval | None
    over_default: Interval | None
    automatic: Automatic | None = None
    """What tf.data's AUTOTUNE settled on; null where it was not read out."""
    interrupted: bool
    seconds: float
    study: str
    files: dict[str, Path]
    """Where each file is, by its name."""
    trials: tuple[Trial, ...]

    def text(self) -> str:
        """Return it as JSON; the trials come without their windows, which trials.jsonl holds."""
        return self.model_dump_json(indent=2, exclude=_WINDOWS) + "\n"

    def plain(self) -> dict[str, Any]:
        """Return the same as dictionaries, lists, texts and numbers."""
        return self.model_dump(mode="json", exclude=_WINDOWS)


_WINDOWS = {"trials": {"__all__": {"windows"}}}


def document(result: Recommendation, folder: Path | None) -> ResultDocument:
    """Return the document for a result.

    Args:
        result: The result.
        folder: Where its files are; None for nowhere.
    """
    same = set(ResultDocument.model_fields) & set(Recommendation.model_fields)
    return ResultDocument(
        configuration=result.config,
        global_batch=result.config.global_batch,
        files=written(folder) if folder else {},
        **{name: getattr(result, name) for name in same},
    )
