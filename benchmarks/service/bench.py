"""The figures of the service, with their goals, on real processes.

    python -m benchmarks.service.bench [--out docs/benchmarks/service.md --since "what changed"]

It prints one table and writes nothing unless it is asked to. Without --database it makes a SQLite
file of its own; a PostgreSQL database that it is given must be empty.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from autotune.machine import this_host
from benchmarks.page import page_of, parser_of
from benchmarks.service import large, recovery
from benchmarks.service.site import ENGINES, HEAD, Row, Site, table

ABOUT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
SOFTWARE = ("autotune-keras", "fastapi", "starlette", "uvicorn", "sqlalchemy", "pydantic")
Measure = Callable[[Site, Database], Iterator[Row]]


def main() -> None:
    """Measure part after part, each on a service of its own."""
    options = parse()
    sys.path.append(str(ENGINES))  # for the search that this process has run
    head = ABOUT.format(database="PostgreSQL" if options.database else "SQLite")
    page = page_of(options, head)
    print(HEAD, flush=True)
    before = psutil.cpu_times()
    with tempfile.TemporaryDirectory(prefix="autotune-bench-") as folder:
        rows = list(_measured(options, Path(folder)))
    page.write([_about(before, options.database), "", table(rows)])


def parse() -> argparse.Namespace:
    parser = parser_of(__doc__)
    add = parser.add_argument
    # The last leaves a queue, which a database that all share must not have before.
    parts = ("recovery", "large")
    add("--parts", nargs="+", choices=parts, default=parts, help="default: all")
    add("--rounds", type=int, default=8, help="turns of each reading call; default: %(default)s")
    add("--seconds", type=float, default=2.0, help="of each burst; default: %(default)s")
    add("--jobs", type=int, default=100_000, help="of `large`, that are done")
    add("--queued", type=int, default=1000, help="of `large`, that wait")
    add("--times", type=int, default=3, help="each kill; default: %(default)s")
    add("--database", help="URL of an empty PostgreSQL database; default: SQLite")
    return parser.parse_args()


def _measured(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    measures: dict[str, tuple[str, Measure]] = {
        "large": (
            "quick",
            lambda site, store: large.measure(
                site, store, options.jobs, options.queued, options.rounds, options.seconds
            ),
        ),
        "recovery": ("slow", lambda site, store: recovery.measure(site, store, options.times)),
    }
    for name in options.parts:
        engine, measure = measures[name]
        yield from _told(measure, _site(options, folder / name, engine))


def _told(measure: Measure, site: Site) -> Iterator[Row]:
    """Yield the rows of a part, each printed as it comes."""
    site.folder.mkdir()
    database = open_database(site.settings)
    try:
        for row in measure(site, database):
            print(row, flush=True)
            yield row
    finally:
        database.close()


def _site(options: argparse.Namespace, folder: Path, engine: str) -> Site:
    url = options.database or f"sqlite:///{folder / 'service.db'}"
    return Site(folder=folder, database=url, engine=f"service_engines:{engine}")


def _about(before: Any, database: str | None) -> str:
    """Return when, where and with what it was measured, since the processors' times were taken."""
    host = this_host(gpus=(), tpus=0, tensorflow="", keras="")
    spent = [b - a for a, b in zip(before, psutil.cpu_times(), strict=True)]
    taken = getattr(psutil.cpu_times(), "steal", 0.0) - getattr(before, "steal", 0.0)
    software = ", ".join(f"{name} {version(name)}" for name in SOFTWARE)
    return (
        f"{datetime.now(UTC).date()}; {host} ({host.processor}); {taken / sum(spent):.0%} of the "
        f"processors' time taken away; {software}{_server(database)}."
    )


def _server(url: str | None) -> str:
    """Return what PostgreSQL is, and the memory that it was given."""
    if url is None:
        return ""
    database = Database(url)
    with database.reading() as connection:
        names = ("server_version", "shared_buffers", "fsync")
        told = [connection.exec_driver_sql(f"SHOW {each}").scalar_one() for each in names]
    database.close()
    return ", PostgreSQL {} with {} of shared buffers and fsync {}".format(*told)


if __name__ == "__main__":
    main()
