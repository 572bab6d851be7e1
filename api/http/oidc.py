"""OpenID Connect: the provider says who somebody is, by the authorization code flow with PKCE.

Between beginning and end a sign-in is known by a secret that only the browser has, in a cookie.
All that goes to the provider is derived from it, so that nothing is kept here, and that a browser
can end only what it has begun.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from contextlib import suppress
from threading import BoundedSemaphore
from typing import Annotated, Any
from urllib.parse import quote

import httpx2 as httpx
from pydantic import AfterValidator, BaseModel, ValidationError

from autotune.api.callers import Caller
from autotune.api.errors import KeyRefused, ProviderUnavailable
from autotune.api.http.fetched import Fetched
from autotune.api.http.tokens import Tokens
from autotune.api.identity import IdentityProvider, is_private

SIGN_IN = "/sign-in"
BEGIN = f"{SIGN_IN}/begin"
END = f"{SIGN_IN}/end"
SECONDS = 5.0
"""Longest wait for the provider."""
MOST_EXCHANGES = 8
"""Sign-ins that may be completed at the same moment."""
_WELL_KNOWN = "/.well-known/openid-configuration"
_BASIC = "client_secret_basic"


def _private(url: str) -> str:
    if not is_private(url):
        raise ValueError("Input should be an address that begins with https://")
    return url


Endpoint = Annotated[str, AfterValidator(_private)]
Optional = Annotated[
    str | None, AfterValidator(lambda url: url if url is not None and is_private(url) else None)
]
"""An address that is not used unless it is private."""


class Discovery(BaseModel):
    """What is needed of a provider's discovery document."""

    issuer: str
    authorization_endpoint: Endpoint
    token_endpoint: Endpoint
    jwks_uri: Endpoint
    end_session_endpoint: Optional = None
    """Where people sign out, at providers that let them by OpenID Connect RP-Initiated Logout."""
    token_endpoint_auth_methods_supported: tuple[str, ...] = (_BASIC,)


class Provider:
    """Lets people sign in, and recognises their tokens. Threads may share it.

    Args:
        settings: The operator's.
        transport: Sends the requests, as httpx has it; None uses the network.

    Raises:
        SettingsError: The secret cannot be read.
        MissingPackage: The package that checks tokens is not installed.
    """

    def __init__(
        self, settings: IdentityProvider, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.settings = settings
        self.tokens = Tokens(settings.issuer, settings.algorithms, self._keys)
        self._secret = settings.secret()
        self._http = httpx.Client(timeout=SECONDS, transport=transport)
        self._discovery = Fetched(self._discover)
        self._turns = BoundedSemaphore(MOST_EXCHANGES)

    @property
    def secure(self) -> bool:
        """Whether browsers call this service by TLS."""
        return self.settings.url.startswith("https://")

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def begin(self, secret: str) -> str:
        """Return where a browser goes to sign in.

        Args:
            secret: What the browser alone keeps of this sign-in.

        Raises:
            ProviderUnavailable: The provider does not answer.
        """
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self._back,
            "scope": " ".join(self.settings.scopes),
            "state": state_of(secret),
            "nonce": _derived(secret, "nonce"),
            "code_challenge": _text(hashlib.sha256(_derived(secret, "verifier").encode()).digest()),
            "code_challenge_method": "S256",
        }
        endpoint = httpx.URL(self._discovery.get().authorization_endpoint)
        return str(endpoint.copy_merge_params(asked))

    def end(self, secret: str, code: str) -> Caller:
        """Return who has signed in.

        Args:
            secret: What the sign-in was begun with.
            code: What the provider has sent the browser back with.

        Raises:
            KeyRefused: The provider does not take the code, or what it says is not valid.
            ProviderUnavailable: It does not answer.
        """
        client = self.settings.client_id
        required = {"nonce": _derived(secret, "nonce"), "azp": client}
        claims = self.tokens.claims(self._exchange(secret, code), client, **required)
        return self.settings.caller(claims)

    def sign_out(self) -> str | None:
        """Return where a browser goes to sign out at the provider too, if that can be said.

        The identity token is not kept here, so that the provider may ask whether it is meant.
        """
        with suppress(ProviderUnavailable):
            endpoint = self._discovery.get().end_session_endpoint
            asked = {
                "client_id": self.settings.client_id,
                "post_logout_redirect_uri": f"{self.settings.url.rstrip('/')}{SIGN_IN}",
            }
            return endpoint and str(httpx.URL(endpoint).copy_merge_params(asked))
        return None

    def recognise(self, token: str) -> Caller:
        """Return whose token this is.

        Raises:
            KeyRefused: It is not valid, or none is.
            ProviderUnavailable: The provider's keys are not known.
        """
        if self.settings.audience is None:
            raise KeyRefused("Tokens are not accepted here.", "Use an API key.")
        return self.settings.caller(self.tokens.claims(token, self.settings.audience))

    @property
    def _back(self) -> str:
        return f"{self.settings.url.rstrip('/')}{END}"

    def _exchange(self, secret: str, code: str) -> str:
        """Return the identity token that a code stands for."""
        client, found = self.settings.client_id, self._discovery.get()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "code_verifier": _derived(secret, "verifier"),
        }
        auth = None
        if self._secret and _BASIC in found.token_endpoint_auth_methods_supported:
            auth = httpx.BasicAuth(quote(client, safe=""), quote(self._secret, safe=""))
        else:
            form |= {"client_id": client}
            form |= {"client_secret": self._secret} if self._secret else {}
        # Anybody may show a code, and a provider may be slow.
        if not self._turns.acquire(blocking=False):
            raise ProviderUnavailable("Too many people sign in at once.", "Try again in a moment.")
        try:
            answer = self._asked("POST", found.token_endpoint, data=form, auth=auth)
        finally:
            self._turns.release()
        token = answer.get("id_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise KeyRefused("The identity provider refused the sign-in.", "Sign in again.")
        return token

    def _keys(self) -> Any:
        return self._asked("GET", self._discovery.get().jwks_uri)

    def _discover(self) -> Discovery:
        """Return the discovery document.

        Raises:
            ProviderUnavailable: There is none, or it is another issuer's.
        """
        issuer = self.settings.issuer
        answer = self._asked("GET", f"{issuer.rstrip('/')}{_WELL_KNOWN}")
        try:
            found = Discovery.model_validate(answer)
        except ValidationError as exc:
            raise _unavailable() from exc
        if found.issuer != issuer:
            raise _unavailable()
        return found

    def _asked(self, method: str, url: str, **options: Any) -> Any:
        """Return what the provider answers; of a request that it refuses, what it says."""
        try:
            answer = self._http.request(method, url, **options)
            if answer.is_success or (method == "POST" and answer.is_client_error):
                return answer.json()
        except (httpx.HTTPError, ValueError) as exc:
            raise _unavailable() from exc
        raise _unavailable()


def state_of(secret: str) -> str:
    """Return what the provider hands back with its answer to a sign-in."""
    return _derived(secret, "state")


def _derived(secret: str, what: str) -> str:
    return _text(hmac.digest(secret.encode(), what.encode(), "sha256"))


def _text(digest: bytes) -> str:
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _unavailable() -> ProviderUnavailable:
    return ProviderUnavailable(
        "The identity provider does not answer as one of this issuer.",
        "Try again; if it recurs, tell the operator.",
    )
