"""The base of the values that the parts hand to each other."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

Scalar = bool | int | float | str
"""What an axis of the user's own, or a fixed argument of a factory, may hold."""


def _number(given: Any) -> Any:
    if isinstance(given, bool | str):
        raise ValueError("Input should be a number")  # noqa: TRY004 - pydantic's kind of error
    return given


Whole = Annotated[int, BeforeValidator(_number)]
"""A whole number, also one written as 8.0; `true` is none, nor is "8"."""


class Value(BaseModel):
    """Frozen, compared by content, hashable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")
