"""What was typed into a form, as it came."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

from autotune.value import Scalar

MOST_FIELDS = 500
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Typed:
    """The fields of a form; an empty one counts as left out."""

    values: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """Return what was typed into a field."""
        return self.values.get(name, ("",))[-1].strip()

    def all(self, name: str) -> tuple[str, ...]:
        """Return everything that was chosen of a field."""
        return self.values.get(name, ())


NOTHING_TYPED = Typed({})


async def typed_of(request: Request) -> Typed:
    """Return what a form sends.

    Raises:
        HTTPException: It is no form, or holds too much.
    """
    try:
        text = (await request.body()).decode("ascii")
        found = parse_qs(text, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as exc:
        raise HTTPException(400, "There was an error parsing the body") from exc
    return Typed({name: tuple(values) for name, values in found.items()})


def number(text: str) -> Scalar:
    """Return the number that a text is; the text itself, if it is none, for others to refuse."""
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        found = float(text)
    except ValueError:
        return text
    return found if math.isfinite(found) else text
