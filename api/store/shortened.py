"""A recommendation without its trials, which are most of it."""

from __future__ import annotations

import json


def without_trials(recommendation: str) -> str:
    """Return a recommendation, given and returned as JSON, without the member `trials`.

    It is called once, when a job ends: to do it at each reading would take several times as long
    as the reading itself, in PostgreSQL as well as here.
    """
    found = json.loads(recommendation)
    found.pop("trials", None)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
