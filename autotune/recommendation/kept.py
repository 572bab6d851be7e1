"""A recommendation that was saved, read back."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from autotune.errors import ConfigurationError, first_mistake, in_words
from autotune.recommendation.output import RESULT, TRIALS
from autotune.recommendation.recommendation import Recommendation


def load_recommendation(folder: Path) -> Recommendation:
    """Read what a search left in a folder: all but factories that were shipped by value.

    Raises:
        ConfigurationError: It is not there, cannot be read, or is damaged.
    """
    try:
        kept = json.loads((folder / RESULT).read_text("utf-8"))
        # Not `splitlines`: what a trial printed may hold other characters that end a line for it.
        with (folder / TRIALS).open(encoding="utf-8") as lines:
            trials = [json.loads(line) for line in lines]
        return Recommendation.model_validate_json(json.dumps({**kept, "trials": trials}))
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(
            f"{folder} holds no result that can be read: {in_words(exc)}.",
            "Name a folder that `autotune tune` or `result.save()` has written.",
        ) from exc
    except ValidationError as exc:
        raise ConfigurationError(
            f"{folder / RESULT} is no saved result: {first_mistake(exc)}.",
            "Read it with the version of autotune that wrote it, or search again.",
        ) from exc
    except (ValueError, TypeError) as exc:
        raise ConfigurationError(
            f"{folder / RESULT} or {TRIALS} is damaged: {' '.join(str(exc).split())}.",
            "Search again.",
        ) from exc
