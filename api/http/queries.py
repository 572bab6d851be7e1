"""What may be asked for in an address or a header, beside the path."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from autotune.api.states import State
from autotune.api.store.jobs import MOST_JOBS, MOST_TRIALS
from autotune.value import Value


def _digits(given: Any) -> Any:
    if isinstance(given, str) and not re.fullmatch("-?[0-9]{1,18}", given, re.ASCII):
        raise ValueError("Input should be a whole number")
    return given


Number = Annotated[int, BeforeValidator(_digits)]
"""A whole number in plain digits; `+1.0` is none."""


class ListQuery(Value):
    """Which jobs to list."""

    state: list[State] = Field(default=[], max_length=len(State))
    """Only those in one of these states."""
    before: Annotated[str, Field(pattern="^[0-9a-f]{24}$")] | None = None
    """The `next` of the page before."""
    limit: Annotated[Number, Field(ge=1, le=MOST_JOBS)] = 20


class TrialsQuery(Value):
    """Which trials to list."""

    after: Annotated[Number, Field(ge=-1, lt=2**31)] = -1
    """Only those with a higher number."""
    limit: Annotated[Number, Field(ge=1, le=MOST_TRIALS)] = MOST_TRIALS
