"""The base of the values that the parts hand to each other."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

Scalar = bool | int | float | str
"""What an axis of the user's own, or a fixed argument of a factory, may hold."""


def _number(given: Any) -> Any:
    if isinstance(given, bool | str):
        raise PydanticCustomError("number", "Input should be a number")
    return given


WHOLE = BeforeValidator(_number)
Whole = Annotated[int, WHOLE]
"""A whole number, also one written as 8.0; `true` is none, nor is "8"."""


class Value(BaseModel):
    """Frozen, compared by content, hashable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Derived(Value):
    """One whose JSON also has what is made anew from its values, and is dropped when read back."""

    @model_validator(mode="before")
    @classmethod
    def _without_derived(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: each for name, each in data.items() if name not in cls.model_computed_fields}


class Described(Value):
    """One whose JSON schema says of each field what stands below it in the code."""

    model_config = ConfigDict(use_attribute_docstrings=True)
