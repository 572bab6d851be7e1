"""Projects: where a caller may do what; and for their administrators, whose they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path
from pydantic import AfterValidator, Field

from autotune.api.errors import NotFound
from autotune.api.http import examples
from autotune.api.http.access import Manager, Reader
from autotune.api.http.answers import (
    KeyAnswer,
    KeysAnswer,
    MembersAnswer,
    NewKeyAnswer,
    ProjectAnswer,
    ProjectsAnswer,
)
from autotune.api.http.examples import json_answer
from autotune.api.http.middleware import json_only
from autotune.api.http.problems import CHANGING, CLOSED, documented
from autotune.api.http.service import Here
from autotune.api.requests import Text
from autotune.api.roles import PERSON, Role, Scope
from autotune.api.store.auth import Keyring
from autotune.api.store.members import Member, Members
from autotune.value import Value

router = APIRouter(tags=["projects"])
DAY_SECONDS = 86400.0


class MemberRequest(Value):
    """What somebody is to be in a project."""

    role: Role


class KeyRequest(Value):
    """A key to make for a project."""

    name: Annotated[Text, Field(min_length=1, max_length=100)]
    """For people."""
    role: Role = Role.EDITOR
    """What it may do in the project; elsewhere it may do nothing."""
    days: Annotated[float, Field(gt=0, le=36_500, strict=True)] | None = None
    """How long it is valid; null for good."""


def _known(name: str) -> str:
    """Return a name in an address.

    Raises:
        NotFound: It can be nobody's; a database may not even take the question.
    """
    if not name.isprintable() or len(name) > 300:
        raise NotFound("There is nothing of that name.", "Check it.")
    return name


ProjectName = Annotated[
    str, AfterValidator(_known), Path(description="A project's name.", examples=["vision"])
]
MemberId = Annotated[
    str,
    AfterValidator(_known),
    Path(
        description="`person:` and a person's name at the provider, or the id of a key.",
        examples=[f"{PERSON}anna@example.org"],
    ),
]
KeyId = Annotated[
    str, AfterValidator(_known), Path(description="A key's id.", examples=["9f86d081884c7d65"])
]


def administered(project: ProjectName, key: Manager) -> str:
    """Return the project of an address, which the caller administers.

    Raises:
        NotFound: The caller does not know it.
        ScopeMissing: It may only use it.
    """
    key.check_project(project, Scope.PROJECT)
    return project


Own = Annotated[str, Depends(administered)]
_CHANGING = documented(*CHANGING, "not-found", "invalid-request", "body-too-large")
_WITH_BODY = documented(
    *CHANGING,
    "not-found",
    "invalid-request",
    "malformed-body",
    "body-too-large",
    "unsupported-media-type",
)
_READING = documented(*CLOSED, "not-found", "invalid-request")


@router.get(
    "/v1/projects",
    summary="List the projects",
    responses={200: json_answer(examples.PROJECTS, "By name."), **documented(*CLOSED)},
)
async def projects(key: Reader) -> ProjectsAnswer:
    """List the projects that the caller belongs to, and what it may do in each."""
    names = sorted({*key.roles, *filter(None, [key.project])})
    scopes = ((each, tuple(s for s in Scope if key.may(s, each))) for each in names)
    return ProjectsAnswer(projects=tuple(ProjectAnswer(name=n, scopes=s) for n, s in scopes))


@router.get(
    "/v1/projects/{project}/members",
    summary="List the members of a project",
    responses={200: json_answer(examples.MEMBERS, "By name."), **_READING},
)
def members(project: Own, here: Here) -> MembersAnswer:
    """List the people, and the keys of other projects, that were given a role in the project.

    People who have one by a group at the provider are not listed.
    """
    return MembersAnswer(members=Members(here.database).all(project))


@router.put(
    "/v1/projects/{project}/members/{member}",
    summary="Set a member of a project",
    responses={200: json_answer(examples.MEMBER, "The member."), **_WITH_BODY},
    dependencies=[Depends(json_only)],
)
def add_member(
    project: Own,
    member: MemberId,
    request: Annotated[MemberRequest, Body(openapi_examples=examples.ROLE_REQUESTS)],
    here: Here,
) -> Member:
    """Give somebody a role in the project, in place of the one that they were given before."""
    return Members(here.database).add(project, member, request.role)


@router.delete(
    "/v1/projects/{project}/members/{member}",
    summary="Remove a member of a project",
    status_code=204,
    responses={204: {"description": "They have no role any more."}, **_CHANGING},
)
def remove_member(project: Own, member: MemberId, here: Here) -> None:
    """Take away somebody's role in the project; takes effect within two seconds."""
    Members(here.database).remove(project, member)


@router.get(
    "/v1/projects/{project}/keys",
    summary="List the keys of a project",
    responses={200: json_answer(examples.KEYS, "Oldest first."), **_READING},
)
def keys(project: Own, here: Here) -> KeysAnswer:
    """List the keys that are the project's, and can do nothing else; revoked ones too."""
    found = Keyring(here.database).of_project(project)
    return KeysAnswer(keys=tuple(map(KeyAnswer.of, found)))


@router.post(
    "/v1/projects/{project}/keys",
    summary="Create a key of a project",
    status_code=201,
    responses={201: json_answer(examples.NEW_KEY, "The key, this once."), **_WITH_BODY},
    dependencies=[Depends(json_only)],
)
def create_key(
    project: Own,
    request: Annotated[KeyRequest, Body(openapi_examples=examples.KEY_REQUESTS)],
    here: Here,
) -> NewKeyAnswer:
    """Create a key with a role in the project, and nowhere else."""
    seconds = request.days and request.days * DAY_SECONDS
    keyring = Keyring(here.database)
    made = keyring.hand_out(request.name, request.role.scopes, seconds, project)
    return NewKeyAnswer(**dict(KeyAnswer.of(made.key)), secret=made.secret)


@router.delete(
    "/v1/projects/{project}/keys/{key_id}",
    summary="Revoke a key of a project",
    status_code=204,
    responses={204: {"description": "It is refused within two seconds."}, **_CHANGING},
)
def revoke_key(project: Own, key_id: KeyId, here: Here) -> None:
    """Revoke a key of the project; its jobs go on."""
    Keyring(here.database).revoke(key_id, project)
