"""A small provider of OpenID Connect, which signs with real keys."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "autotune", "s3cret:/&"


def new_key(kid: str) -> RSAKey:
    """Return a key to sign with."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


class FakeProvider:
    """Signs whoever `claims` says in at once, and checks what a provider checks."""

    def __init__(self) -> None:
        self.issuer = ""
        self.key = new_key("first")
        self.published = [self.key]
        self.claims: dict[str, Any] = {"sub": "anna", "name": "Anna", "groups": ["readers"]}
        """Of whoever is before the browser."""
        self.codes: dict[str, dict[str, str]] = {}
        self.signed_out: list[dict[str, str]] = []
        """What each sign-out has said."""
        self.fetched = 0
        """How often its keys were asked for."""

    def token(self, key: RSAKey | None = None, **changes: Any) -> str:
        """Return a token, by default one for the API; None leaves a claim out."""
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "tuner", "iat": now, "exp": now + 300, **self.claims}
        claims = {name: each for name, each in {**claims, **changes}.items() if each is not None}
        key = key or self.key
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)

    def document(self) -> dict[str, Any]:
        """Return the discovery document."""
        paths = {"authorization_endpoint": "/authorize?tenant=1", "token_endpoint": "/token"}
        paths["end_session_endpoint"] = "/logout?tenant=1"
        addresses = {name: self.issuer + path for name, path in paths.items()}
        return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", **addresses}

    def keys(self) -> dict[str, Any]:
        """Return its public keys."""
        self.fetched += 1
        return {"keys": [each.as_dict(private=False) for each in self.published]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser goes on, with a code."""
        assert asked["client_id"] == CLIENT
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert asked["tenant"] == "1"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def sign_out(self, asked: dict[str, str]) -> str:
        """Return where the browser goes on once nobody is signed in any more."""
        assert (asked["client_id"], asked["tenant"]) == (CLIENT, "1")
        self.signed_out.append(asked)
        return asked["post_logout_redirect_uri"]

    def exchange(self, given: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return the tokens for a code, once."""
        known = base64.b64encode(f"{CLIENT}:{quote(SECRET, safe='')}".encode()).decode()
        asked = self.codes.pop(given["code"], None)
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or authorization != f"Basic {known}":
            return None
        if (asked["code_challenge"], asked["redirect_uri"]) != (challenge, given["redirect_uri"]):
            return None
        token = self.token(aud=CLIENT, **{"nonce": asked["nonce"], **self.claims})
        return {"id_token": token, "access_token": "x", "token_type": "Bearer"}


@contextmanager
def provider() -> Iterator[FakeProvider]:
    """Give a provider that listens on a port of its own."""
    fake = FakeProvider()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            """Say nothing."""

        def do_GET(self) -> None:
            """Answer a browser, or the service."""
            url = urlsplit(self.path)
            leads = {"/authorize": fake.authorize, "/logout": fake.sign_out}
            if url.path in leads:
                asked = {name: each[0] for name, each in parse_qs(url.query).items()}
                self.send_response(302)
                self.send_header("Location", leads[url.path](asked))
                self.end_headers()
            else:
                self.answer(fake.keys() if url.path == "/keys" else fake.document())

        def do_POST(self) -> None:
            """Hand out tokens."""
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            given = {name: each[0] for name, each in parse_qs(body).items()}
            found = fake.exchange(given, self.headers.get("Authorization", ""))
            self.answer(found or {"error": "invalid_grant"}, 200 if found else 400)

        def answer(self, what: object, status: int = 200) -> None:
            body = json.dumps(what).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
