"""`autotune jobs`: whose the jobs of a service are."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli.console import guarded, say
from autotune.cli.database import service_database
from autotune.cli.options import SettingsFile
from autotune.errors import UsageError
from autotune.wording import plural

app = typer.Typer(
    help="Give jobs of the service to another project.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _group() -> None:
    """Keep the command's name, although there is one alone."""


@guarded
def reassign(
    *,
    project: Annotated[str, typer.Argument(help="Whose the jobs are.", show_default=False)],
    to: Annotated[
        str, typer.Option(metavar="PROJECT", help="Whose they will be.", show_default=False)
    ],
    job: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this job; repeatable.", show_default="all of them"),
    ] = None,
    settings: SettingsFile = None,
) -> None:
    """Give a project's jobs to another one; all keys of that see them from then on."""
    from autotune.api.store.jobs import reassign as give

    if not to.isprintable() or not 0 < len(to) <= 100:
        raise UsageError("A project has 1 to 100 printable characters.", "Choose another name.")
    with service_database(settings) as database:
        found = give(database, project, to, job or ())
    say(f"{plural(len(found), 'job')} of {project} given to {to}.")


app.command()(reassign)
