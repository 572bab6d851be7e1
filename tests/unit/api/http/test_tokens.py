"""Which tokens are taken."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from itertools import count
from threading import Event, Thread
from typing import Any

import pytest

from autotune.api.errors import KeyRefused, ProviderUnavailable
from autotune.api.http.fetched import KEPT_SECONDS, REFETCH_SECONDS, RETRY_SECONDS, Fetched
from autotune.api.http.tokens import LEEWAY, Tokens

pytest.importorskip("joserfc")
from joserfc.jws import serialize_compact

from tests.oidc import FakeProvider, new_key

FAKE = FakeProvider()
FAKE.issuer = "https://login.example.org"
OTHER = new_key("other")


class World:
    """A provider with a clock."""

    def __init__(self) -> None:
        self.keys: Any = FAKE.keys
        self.fetched = 0
        self.now = 0.0
        self.tokens = Tokens(FAKE.issuer, ["RS256", "ES256"], self._fetch, lambda: self.now)

    def _fetch(self) -> Any:
        self.fetched += 1
        return self.keys()

    def take(self, token: str) -> str:
        """Return whose token it is."""
        return str(self.tokens.claims(token, "tuner")["sub"])


@pytest.fixture
def world() -> World:
    """One whose keys nobody has asked for."""
    return World()


def forged(header: dict[str, Any], secret: bytes = b"") -> str:
    """Return a token that nobody but an attacker has signed."""
    now = int(time.time())
    claims = {"iss": FAKE.issuer, "aud": "tuner", "sub": "eve", "exp": now + 300}
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()) for each in (header, claims)]
    body = b".".join(part.rstrip(b"=") for part in parts)
    mark = hmac.digest(secret, body, hashlib.sha256) if secret else b""
    return (body + b"." + base64.urlsafe_b64encode(mark).rstrip(b"=")).decode()


def test_a_token_of_the_provider_is_taken(world: World) -> None:
    """For us, whoever else it may be for."""
    assert world.take(FAKE.token()) == "anna"
    assert world.take(FAKE.token(aud=["other", "tuner"])) == "anna"
    assert world.fetched == 1


NOW = int(time.time())


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "other"},
        {"aud": None},
        {"aud": ["other"]},
        {"aud": {"tuner": 1}},
        {"iss": "https://evil.example"},
        {"iss": FAKE.issuer + "/"},
        {"iss": [FAKE.issuer]},
        {"iss": None},
        {"exp": NOW - LEEWAY - 1},
        {"exp": None},
        {"exp": "never"},
        {"exp": True},
        {"nbf": NOW + 3600},
        {"iat": NOW + 3600},
        {"sub": None},
    ],
)
def test_other_claims_are_refused(world: World, changes: dict[str, Any]) -> None:
    """Not for us, not by the provider, not valid now, or about nobody."""
    with pytest.raises(KeyRefused, match="Invalid token"):
        world.take(FAKE.token(**changes))


def test_other_signatures_are_refused(world: World) -> None:
    """None at all, one by the public key as a secret, one by another key, one cut off."""
    public = FAKE.key.as_pem(private=False)
    der = FAKE.key.as_der(private=False)
    good = FAKE.token()
    tokens = [
        forged({"alg": "none", "kid": "first"}),
        forged({"alg": "None", "kid": "first"}),
        forged({"alg": "HS256", "kid": "first"}, public),
        forged({"alg": "HS256", "kid": "first"}, public.strip()),
        forged({"alg": "HS256", "kid": "first"}, der),
        forged({"alg": "RS256", "kid": "first"}),
        forged({"alg": "RS256"}),
        forged({"alg": "RS256", "kid": "first", "jwk": OTHER.as_dict(private=False)}),
        forged({"alg": "RS256", "kid": "first", "crit": ["x"], "x": 1}),
        FAKE.token(new_key("first")),
        FAKE.token(OTHER),
        good[:-4],
        good.rpartition(".")[0] + ".",
        "a.b.c",
        "..",
    ]
    for each in tokens:
        with pytest.raises(KeyRefused, match="Invalid token"):
            world.take(each)


def test_claims_that_nest_too_deeply_are_refused(world: World) -> None:
    """A provider may sign what its people say of themselves."""
    token = serialize_compact({"alg": "RS256", "kid": "first"}, b"[" * 20_000, FAKE.key)
    with pytest.raises(KeyRefused, match="Invalid token"):
        world.take(token)


def test_a_new_key_is_learned_of_but_not_as_often_as_somebody_likes(world: World) -> None:
    """Unknown keys are looked for at most twice a minute."""
    world.take(FAKE.token())
    for _ in range(20):
        with pytest.raises(KeyRefused):
            world.take(FAKE.token(OTHER))
    assert world.fetched == 1
    world.keys = lambda: {"keys": [OTHER.as_dict(private=False)]}
    world.now = REFETCH_SECONDS
    assert world.take(FAKE.token(OTHER)) == "anna"
    assert world.fetched == 2
    with pytest.raises(KeyRefused):
        world.take(FAKE.token())


def test_a_key_that_is_withdrawn_is_forgotten(world: World) -> None:
    """Within an hour, whether or not anybody shows another one."""
    world.take(FAKE.token())
    world.keys = lambda: {"keys": [OTHER.as_dict(private=False)]}
    world.now = KEPT_SECONDS
    with pytest.raises(KeyRefused):
        world.take(FAKE.token())


@pytest.mark.parametrize("answer", [{}, {"keys": 1}, {"keys": []}, {"keys": [{"kty": "RSA"}]}, []])
def test_keys_that_cannot_be_read_are_the_providers_fault(world: World, answer: Any) -> None:
    """It is asked again a little later, and known keys are kept meanwhile."""
    good, world.keys = world.keys, lambda: answer
    for _ in range(5):
        with pytest.raises(ProviderUnavailable):
            world.take(FAKE.token())
    assert world.fetched == 1
    world.keys, world.now = good, RETRY_SECONDS
    world.take(FAKE.token())
    world.keys, world.now = (lambda: answer), KEPT_SECONDS * 2
    assert world.take(FAKE.token()) == "anna"


def test_a_provider_that_hangs_keeps_nobody_waiting() -> None:
    """Whoever looks meanwhile goes on with what is known."""
    asked, answers = Event(), Event()

    def hang() -> int:
        asked.set()
        answers.wait(60)
        return 2

    kept: Fetched[int] = Fetched(lambda: 1, count(0.0, REFETCH_SECONDS).__next__)
    assert kept.get() == 1
    kept._fetch = hang
    slow = Thread(target=kept.newer, args=(1,))
    slow.start()
    assert asked.wait(60)
    assert kept.newer(1) is None
    assert kept.get() == 1
    answers.set()
    slow.join()
    assert kept.get() == 2
