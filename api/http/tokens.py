"""Tokens of the provider: signed with one of its keys, by it, for us, and valid now."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from autotune.api.errors import KeyRefused, ProviderUnavailable
from autotune.api.http.fetched import Fetched
from autotune.api.log import say
from autotune.extras import needed

LEEWAY = 5
"""Seconds by which the clocks of provider and service may differ."""
Claims = Mapping[str, Any]
_WRONG = (ValueError, TypeError, KeyError, RecursionError)
"""What the package raises beside its own errors."""


class Tokens:
    """Checks tokens. Threads may share it.

    Args:
        issuer: Who must have made them.
        algorithms: How they may be signed.
        fetch: Returns the provider's keys as they are published.
        clock: Tells seconds that never go back.

    Raises:
        MissingPackage: The package that checks them is not installed.
    """

    def __init__(
        self,
        issuer: str,
        algorithms: Collection[str],
        fetch: Callable[[], Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def part(name: str) -> Any:
            return needed(f"joserfc.{name}", by="Sign-in by OpenID Connect", extra="oidc")

        self._issuer = issuer
        self._jwt, self._jwk, self._errors = part("jwt"), part("jwk"), part("errors")
        # What a header holds beside is the provider's business.
        make = part("jws").JWSRegistry
        self._registry = make(algorithms=list(algorithms), strict_check_header=False)
        self._fetch = fetch
        self._keys: Fetched[Any] = Fetched(self._published, clock)

    def claims(self, token: str, audience: str, **required: Any) -> Claims:
        """Return what a token says.

        Args:
            token: As it was shown.
            audience: Whom it must be for.
            required: What else it must say.

        Raises:
            KeyRefused: It is not valid.
            ProviderUnavailable: The provider's keys are not known.
        """
        try:
            found = self._decoded(token).claims
            several = isinstance(found.get("aud"), list) and len(found["aud"]) > 1
            needs = {"iss": self._issuer, "aud": audience, **required}
            options = {name: {"essential": True, "value": each} for name, each in needs.items()}
            options |= {"exp": {"essential": True}, "sub": {"essential": True}}
            if "azp" in required:
                options["azp"]["essential"] = several
            self._jwt.JWTClaimsRegistry(leeway=LEEWAY, **options).validate(found)
        except (self._errors.JoseError, *_WRONG) as exc:
            say("A token was refused.", why=type(exc).__name__)
            raise KeyRefused("Invalid token.", "Sign in again, or get a new token.") from exc
        return dict(found)

    def _decoded(self, token: str) -> Any:
        keys = self._keys.get()
        try:
            return self._jwt.decode(token, keys, registry=self._registry)
        except self._errors.InvalidKeyIdError:
            newer = self._keys.newer(keys)
            if newer is None:
                raise
            return self._jwt.decode(token, newer, registry=self._registry)

    def _published(self) -> Any:
        """Return the provider's keys.

        Raises:
            ProviderUnavailable: It does not answer, or with no keys.
        """
        try:
            return self._jwk.KeySet.import_key_set(self._fetch())
        except (self._errors.JoseError, *_WRONG) as exc:
            why = "The identity provider's keys cannot be read."
            raise ProviderUnavailable(why, "Tell the operator.") from exc
