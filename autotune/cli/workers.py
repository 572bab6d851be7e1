"""`autotune workers`: what runs the jobs of a service."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli.console import log, show, table
from autotune.cli.database import service_database
from autotune.cli.options import SettingsFile

app = typer.Typer(
    help="List and drain the workers of the service.",
    no_args_is_help=True,
)
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the worker.", show_default=False)
]


@app.command("list")
def listing(*, settings: SettingsFile = None) -> None:
    """List the workers that are there."""
    from autotune.api.store.workers import there

    with service_database(settings) as database, database.reading() as connection:
        found = there(connection)
    heads = ("name", "does", "machine", "labels", "workloads")
    lines = (
        (w.name, w.doing, str(w.machine or ""), " ".join(w.labels), " ".join(w.workloads))
        for w in found
    )
    show(table(heads, lines))


@app.command()
def drain(*, name: Name, settings: SettingsFile = None) -> None:
    """Have a worker end the job that it runs and take no other; it can be stopped then."""
    from autotune.api.store import workers

    with service_database(settings) as database:
        found = workers.drain(database, name)
    left = f" It ends job {found.job} first." if found.job else ""
    log(f"Worker {name} takes no further job.{left}")


@app.command()
def resume(*, name: Name, settings: SettingsFile = None) -> None:
    """Have a worker that is drained take jobs again."""
    from autotune.api.store import workers

    with service_database(settings) as database:
        workers.drain(database, name, draining=False)
    log(f"Worker {name} takes jobs again.")
