"""The base of the values that the parts hand to each other."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Scalar = bool | int | float | str
"""What an axis of the user's own, or a fixed argument of a factory, may hold."""


class Value(BaseModel):
    """Frozen, compared by content, hashable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")
