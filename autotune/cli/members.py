"""`autotune members`: who belongs to which project of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli.console import guarded, say, show
from autotune.cli.database import service_database
from autotune.cli.keys import checked_name, role_named
from autotune.cli.options import SettingsFile
from autotune.wording import plural

if TYPE_CHECKING:
    from rich.table import Table

    from autotune.api.store.members import Member

app = typer.Typer(
    help="Add, list and remove the members of projects.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Project = Annotated[str, typer.Argument(help="Name of the project.", show_default=False)]
MemberId = Annotated[
    str,
    typer.Argument(
        metavar="MEMBER",
        help="person:NAME, as the provider names the person, or the id of a key.",
        show_default=False,
    ),
]


@guarded
def add(
    *,
    project: Project,
    member: MemberId,
    role: Annotated[
        str, typer.Option(help="viewer, editor or admin: looks; asks and cancels, too; all of it.")
    ] = "editor",
    settings: SettingsFile = None,
) -> None:
    """Give a person or a key a role in a project, in place of the one that they have there."""
    from autotune.api.store.members import Members

    given = role_named(role)
    with service_database(settings) as database:
        Members(database).add(checked_name(project), checked_name(member, 300), given)
    say(f"{member} is {given} of {project}.")


@guarded
def remove(*, project: Project, member: MemberId, settings: SettingsFile = None) -> None:
    """Take away a role in a project; takes effect within 2 s."""
    from autotune.api.store.members import Members

    with service_database(settings) as database:
        Members(database).remove(project, member)
    say(f"{member} does not belong to {project} any more.")


@guarded
def listing(
    *,
    project: Annotated[
        str | None, typer.Argument(help="Only those of this project.", show_default="all")
    ] = None,
    settings: SettingsFile = None,
) -> None:
    """List the members of projects; what keys are in their own project is told by `keys list`."""
    from autotune.api.store.members import Members

    with service_database(settings) as database:
        found = Members(database).all(project)
    show(_table(found))


@guarded
def sign_out(*, person: MemberId, settings: SettingsFile = None) -> None:
    """End all sessions of a person on the page; takes effect within 2 s."""
    from autotune.api.store.auth import Keyring

    with service_database(settings) as database:
        ended = Keyring(database).end_sessions(person)
    say(f"{plural(ended, 'session')} of {person} ended.")


app.command()(add)
app.command("list")(listing)
app.command()(remove)
app.command("sign-out")(sign_out)


def _table(members: tuple[Member, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold dim")
    for head in ("project", "member", "role"):
        table.add_column(head, overflow="fold")
    for each in members:
        table.add_row(Text(each.project), Text(each.member), each.role)
    return table
