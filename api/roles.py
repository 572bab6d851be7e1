"""Who asks, and what they may do in which project."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from autotune.api.errors import NotFound, ProjectMissing, ScopeMissing
from autotune.value import Value

Whose = str | frozenset[str] | None
"""A project, some, or all there are."""


class Scope(StrEnum):
    """What a caller is allowed."""

    READ = "tunings:read"
    """To look at jobs and what may be asked for."""
    WRITE = "tunings:write"
    """To ask for jobs and cancel them."""
    PROJECT = "project:admin"
    """To say whose keys and members a project has."""
    METRICS = "metrics"
    """To read the metrics, and nothing else."""
    ADMIN = "admin"
    """To see everybody's jobs; it implies all but `tunings:write`, in all projects."""


class Role(StrEnum):
    """What somebody is within a project: a name for scopes."""

    VIEWER = "viewer"
    """Looks at the project's jobs."""
    EDITOR = "editor"
    """Asks for jobs and cancels them, too."""
    ADMIN = "admin"
    """Says who belongs to the project, too."""

    @property
    def scopes(self) -> frozenset[Scope]:
        """What it allows."""
        return _OF_ROLE[self]


_OF_ROLE = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.EDITOR: frozenset({Scope.READ, Scope.WRITE}),
    Role.ADMIN: frozenset({Scope.READ, Scope.WRITE, Scope.PROJECT}),
}
WITHIN = Role.ADMIN.scopes
"""All that a project can give; everything else concerns the whole service."""
_IMPLIED = frozenset({Scope.READ, Scope.PROJECT, Scope.METRICS})
"""What an administrator of the service may without being given it."""


def greater(some: Mapping[str, Role], others: Mapping[str, Role]) -> dict[str, Role]:
    """Return the greater role of two in each project."""
    both = {**some, **others}
    for project in some.keys() & others.keys():
        both[project] = max(some[project], others[project], key=lambda each: len(each.scopes))
    return both


class Caller(Value):
    """Whoever asks: a key, or a person."""

    id: str
    """A key's, or `person:` and the person's name at the provider."""
    name: str
    project: str | None = None
    """Whose its jobs are unless it says otherwise."""
    scopes: frozenset[Scope] = frozenset()
    """What it may do in that project, or everywhere."""
    roles: Mapping[str, Role] = Field(default_factory=dict)
    """What it is in further projects."""

    @property
    def owner(self) -> frozenset[str] | None:
        """The projects whose jobs it may see; None for everybody's."""
        return self.projects(Scope.READ)

    def projects(self, scope: Scope) -> frozenset[str] | None:
        """Return where it may do something; None for everywhere."""
        if Scope.ADMIN in self.scopes and scope in self.scopes | _IMPLIED:
            return None
        found = {name for name, role in self.roles.items() if scope in role.scopes}
        own = {self.project} if self.project and scope in self.scopes else set()
        return frozenset(found | own)

    def may(self, scope: Scope, project: str) -> bool:
        """Return whether it may do something in a project."""
        found = self.projects(scope)
        return found is None or project in found

    def require(self, scope: Scope, project: str | None = None) -> None:
        """Make sure that it may do something, in one project or anywhere.

        Raises:
            ScopeMissing: It may not.
        """
        if scope in self.scopes and project is None:
            return
        found = self.projects(scope)
        if found is None or (project in found if project else found):
            return
        where = f" in the project {project}" if project else ""
        raise ScopeMissing(f"{self.kind} lacks the scope {scope}{where}.", "Ask for that role.")

    @property
    def kind(self) -> str:
        """What asks, as a sentence begins."""
        return "This person" if is_person(self.id) else "This key"

    def project_for(self, wanted: str | None) -> str:
        """Return the project that a new job is for.

        Args:
            wanted: What was asked for; None takes the only one there can be.

        Raises:
            NotFound: The caller does not know the project.
            ScopeMissing: It may only look there.
            ProjectMissing: There are several.
        """
        if wanted is not None:
            self.check_project(wanted, Scope.WRITE)
            return wanted
        found = self.projects(Scope.WRITE)
        if self.project and (found is None or self.project in found):
            return self.project
        if not found or len(found) > 1:
            raise ProjectMissing(
                "It is not said which project the job is for.", "Name one in `project`."
            )
        return next(iter(found))

    def check_project(self, project: str, scope: Scope) -> None:
        """Make sure that it may do something in a project.

        Raises:
            NotFound: It may not even look there.
            ScopeMissing: It may only look there.
        """
        if not self.may(Scope.READ, project) and not self.may(scope, project):
            raise NotFound("Project not found.", "Check its name.")
        self.require(scope, project)


PERSON = "person:"


def is_person(caller_id: str) -> bool:
    """Return whether an id is a person's, and not a key's."""
    return caller_id.startswith(PERSON)
