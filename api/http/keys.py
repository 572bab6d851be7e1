"""Keys of a project, for whoever administers it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path
from pydantic import AfterValidator, Field

from autotune.api.callers import Scope
from autotune.api.errors import NotFound
from autotune.api.http import examples
from autotune.api.http.access import Manager
from autotune.api.http.answers import KeyAnswer, KeysAnswer, NewKeyAnswer
from autotune.api.http.examples import json_answer
from autotune.api.http.middleware import json_only
from autotune.api.http.problems import CHANGING, CLOSED, documented
from autotune.api.http.service import Here
from autotune.api.requests import Text
from autotune.api.store.auth import Keyring
from autotune.value import Value

router = APIRouter(tags=["keys"])
DAY_SECONDS = 86400.0


class KeyRequest(Value):
    """A key to make for the caller's project."""

    name: Annotated[Text, Field(min_length=1, max_length=100)]
    """For people."""
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] = frozenset({Scope.READ, Scope.WRITE})
    """What it may do in the project."""
    days: Annotated[float, Field(gt=0, le=36_500, strict=True)] | None = None
    """How long it is valid; null for ever."""


def _known(name: str) -> str:
    """Return a name in an address.

    Raises:
        NotFound: It can be nobody's; a database may not even take the question.
    """
    if not name.isprintable() or len(name) > 300:
        raise NotFound("There is nothing of that name.", "Check it.")
    return name


KeyId = Annotated[
    str, AfterValidator(_known), Path(description="A key's id.", examples=["9f86d081884c7d65"])
]


@router.get(
    "/v1/keys",
    summary="List the keys of the project",
    responses={200: json_answer(examples.KEYS, "Oldest first."), **documented(*CLOSED)},
)
def keys(key: Manager, here: Here) -> KeysAnswer:
    """List the keys of the caller's project; revoked and expired ones too."""
    found = Keyring(here.database).all(key.project)
    return KeysAnswer(keys=tuple(map(KeyAnswer.of, found)))


@router.post(
    "/v1/keys",
    summary="Create a key of the project",
    status_code=201,
    responses={
        201: json_answer(examples.NEW_KEY, "The key, this once."),
        **documented(
            *CHANGING,
            "invalid-request",
            "malformed-body",
            "body-too-large",
            "unsupported-media-type",
        ),
    },
    dependencies=[Depends(json_only)],
)
def create_key(
    key: Manager,
    request: Annotated[KeyRequest, Body(openapi_examples=examples.KEY_REQUESTS)],
    here: Here,
) -> NewKeyAnswer:
    """Create a key of the caller's project."""
    seconds = request.days and request.days * DAY_SECONDS
    made = Keyring(here.database).hand_out(request.name, request.scopes, key.project, seconds)
    return NewKeyAnswer(**dict(KeyAnswer.of(made.key)), secret=made.secret)


@router.delete(
    "/v1/keys/{key_id}",
    summary="Revoke a key of the project",
    status_code=204,
    responses={
        204: {"description": "It is refused within two seconds."},
        **documented(*CHANGING, "not-found", "invalid-request", "body-too-large"),
    },
)
def revoke_key(key_id: KeyId, key: Manager, here: Here) -> None:
    """Revoke a key of the caller's project; its jobs go on."""
    Keyring(here.database).revoke(key_id, key.project)
