"""Who belongs to which project beside its own keys: people, and keys of other projects."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, literal, select, update

from autotune.api.errors import NotFound
from autotune.api.roles import Role, is_person
from autotune.api.store.audit import note
from autotune.api.store.database import Database, Now, insert_new
from autotune.api.store.tables import keys, members
from autotune.value import Value


class Member(Value):
    """Somebody with a role in a project."""

    project: str
    member: str
    """The id of a key, or `person:` and a person's name at the provider."""
    role: Role


class Members:
    """Says who belongs to which project. Threads may share it.

    Args:
        database: Keeps them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, project: str, member: str, role: Role) -> Member:
        """Give somebody a role in a project, in place of the one that they have there.

        Raises:
            NotFound: The member is neither a person nor a key.
        """
        mine = (members.c.project == project, members.c.member == member)
        with self._database.writing() as connection:
            _check_member(connection, member)
            row = {"project": project, "member": member, "role": role, "created_at": Now()}
            connection.execute(insert_new(connection, members, **row))
            connection.execute(update(members).where(*mine).values(role=role))
            note(connection, f"{role} of {project}", member)
        return Member(project=project, member=member, role=role)

    def remove(self, project: str, member: str) -> None:
        """Take away somebody's role in a project.

        Raises:
            NotFound: They have none.
        """
        mine = (members.c.project == project, members.c.member == member)
        with self._database.writing() as connection:
            if not connection.execute(delete(members).where(*mine)).rowcount:
                raise NotFound("Member not found.", "List the members of the project.")
            note(connection, f"remove from {project}", member)

    def all(self, project: str | None = None) -> tuple[Member, ...]:
        """Return the members of a project, or of all, by project and name."""
        query = select(members.c.project, members.c.member, members.c.role)
        query = query.order_by(members.c.project, members.c.member)
        if project is not None:
            query = query.where(members.c.project == project)
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        return tuple(map(Member.model_validate, rows))

    def roles(self, member: str) -> Mapping[str, Role]:
        """Return what somebody is, by project."""
        with self._database.reading() as connection:
            return roles_of(connection, member)


def roles_of(connection: Connection, member: str) -> dict[str, Role]:
    """Return what somebody is, by project."""
    query = select(members.c.project, members.c.role).where(members.c.member == member)
    return {row.project: Role(row.role) for row in connection.execute(query).all()}


def copy_roles(connection: Connection, old: str, new: str) -> None:
    """Give a key the roles of another one."""
    theirs = select(literal(new), members.c.project, members.c.role, Now())
    theirs = theirs.where(members.c.member == old)
    columns = ["member", "project", "role", "created_at"]
    connection.execute(insert(members).from_select(columns, theirs))


def _check_member(connection: Connection, member: str) -> None:
    if is_person(member):
        return
    if connection.execute(select(keys.c.id).where(keys.c.id == member)).first() is None:
        raise NotFound("API key not found.", "Name a person as `person:NAME`, or a key by its id.")
