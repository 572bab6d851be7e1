"""What earlier attempts left on this host is ended before anything else is measured here."""

from __future__ import annotations

import logging
from functools import partial

from autotune.api.log import say
from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.values import Birth, Remains
from autotune.api.work import processes


def sweep(database: Database, host: str) -> bool:
    """End all that is left of attempts that are over; return whether nothing is.

    Both their recorded process and whatever carries their marker count, because a process that
    was recorded may be gone and its own children not.
    """
    clean = True
    for each in attempts.remains(database, host):
        if processes.end_all(partial(_left, each)):
            attempts.swept(database, each)
        else:
            clean = False
            say(
                "Processes of an earlier attempt cannot be killed.",
                logging.ERROR,
                job=each.job_id,
                attempt=each.attempt,
            )
    return clean


def _left(what: Remains) -> list[Birth]:
    found = processes.marked(what.marker)
    if what.birth and processes.birth(what.birth.pid) == what.birth and what.birth not in found:
        found.append(what.birth)
    return found
