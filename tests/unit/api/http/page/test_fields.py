"""Fields drawn from a JSON schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from autotune.api.http.page.fields import Control, Parameter, Typed, parameters
from autotune.value import Scalar


class Colour(StrEnum):
    """An enumeration."""

    RED = "red"
    GREY = "grey"


class Parameters(BaseModel):
    """One of each kind."""

    units: int = Field(default=8, ge=1, le=64, description="Its width.")
    rate: float | None = Field(default=None, gt=0)
    size: Literal[8, 16] = 8
    colour: Colour = Colour.GREY
    deep: bool = True
    name: str


@pytest.fixture
def found() -> dict[str, Parameter]:
    return {each.name: each for each in parameters(Parameters.model_json_schema())}


@pytest.mark.parametrize(
    ("name", "control"),
    [
        ("units", Control.NUMBER),
        ("rate", Control.NUMBER),
        ("size", Control.SELECT),
        ("colour", Control.SELECT),
        ("deep", Control.CHECKBOX),
        ("name", Control.TEXT),
    ],
)
def test_each_kind_has_its_control(
    found: dict[str, Parameter], name: str, control: Control
) -> None:
    """References and what may be null are seen through."""
    assert found[name].control is control


def test_bounds_and_default_are_shown(found: dict[str, Parameter]) -> None:
    """As the schema has them."""
    field = found["units"].field("units", None, "")
    assert (field.value, field.keyboard) == ("8", "numeric")
    assert field.hint == "Its width. 1 to 64."
    rate = found["rate"].field("rate", None, "")
    assert (rate.keyboard, rate.hint) == ("decimal", "Above 0.")
    assert found["name"].field("name", None, "").required
    assert found["deep"].field("deep", None, "").chosen


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("units", "12", 12),
        ("units", "1.5", 1.5),
        ("units", "x", "x"),
        ("units", "", None),
        ("rate", "1e-3", 0.001),
        ("size", "16", 16),
        ("size", "17", "17"),
        ("colour", "red", "red"),
        ("deep", "on", True),
        ("deep", "", False),
        ("name", "8", "8"),
    ],
)
def test_what_is_typed_gets_its_type(
    found: dict[str, Parameter], name: str, text: str, value: Scalar | None
) -> None:
    """What fits none is left as it is, for the workload to refuse."""
    given = found[name].given(Typed({"f": (text,)}), "f")
    assert (given, type(given)) == (value, type(value))
