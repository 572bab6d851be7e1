"""How long a cancelled job takes to be gone, on real processes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2 as httpx

from autotune.api.settings import Patience
from autotune.api.store.database import Database
from autotune.engine.resolve import LOCAL
from benchmarks.service.gang import gang
from benchmarks.service.site import Site, address_of, address_of_new, running, until
from benchmarks.service.table import Row

NEW_SECONDS, GONE_SECONDS = 1.0, 10.0
STUBBORN = "service_engines:stubborn"
ENGINES = {
    "service_engines:sleepers": "processes that ignore every signal",
    STUBBORN: "a search that ignores every interrupt",
    LOCAL: "TensorFlow, a group of two workers",
}
"""What runs, in words."""
ASKED = {"workload": "digits", "space": "quick", "budget": 300}
GANG = {
    "workload": "tiny_dense",
    "space": "quick",
    "budget": 300,
    "strategies": ["multi_worker_mirrored"],
}
_PAUSE = 0.02


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What happened after one cancellation, in seconds from it."""

    last_new: float
    """When the last new process was seen; 0 if there was none."""
    gone: float
    """When nothing was left."""
    most: int
    """Processes that ran when it came."""


def measure(site: Site, database: Database, times: int) -> Iterator[Row]:
    """Yield a row for each engine, whose job is cancelled several times."""
    key = site.new_key(database, "ending")
    api = site.start("serve", "api", "--port", "0")
    with running(api):
        header = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=address_of(api), headers=header, timeout=30) as client:
            for engine, words in ENGINES.items():
                worker = site.start("serve", "worker", AUTOTUNE_SERVICE_ENGINE=engine)
                with running(worker):
                    asked = GANG if engine == LOCAL else ASKED
                    found = [_cancelled(client, database, asked) for _ in range(times)]
                # A search may save what it has found before it is killed.
                saving = Patience().interrupt if engine == STUBBORN else 0.0
                yield _row(words, found, GONE_SECONDS + saving)


def _cancelled(client: httpx.Client, database: Database, asked: Mapping[str, object]) -> Ending:
    """Cancel a job while a gang of its runs."""
    where = address_of_new(client, asked)
    job_id = where.rpartition("/")[2]
    # The search, what starts its trials, and at least two workers.
    until(lambda: len(gang(database, job_id)) >= 4, 120)
    time.sleep(1)
    before = seen = gang(database, job_id)
    began, last_new = time.monotonic(), 0.0
    client.post(f"{where}/cancel").raise_for_status()
    while living := gang(database, job_id):
        if not living <= seen:
            last_new = time.monotonic() - began
        seen = seen | living
        time.sleep(_PAUSE)
    gone = time.monotonic() - began
    until(lambda: client.get(where).json()["state"] == "cancelled")
    return Ending(last_new=last_new, gone=gone, most=len(before))


def _row(words: str, found: list[Ending], most_seconds: float) -> Row:
    new, gone = max(each.last_new for each in found), max(each.gone for each in found)
    most = max(each.most for each in found)
    return Row(
        what=f"cancel: {words}",
        measured=f"gone after {gone:.1f} s, last new process after {new:.1f} s "
        f"(worst of {len(found)}; {most} processes)",
        goal=f"none new after {NEW_SECONDS:.0f} s, gone after {most_seconds:.0f} s",
        reached=new <= NEW_SECONDS and gone <= most_seconds,
    )
