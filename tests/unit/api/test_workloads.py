"""Registered workloads and their parameters."""

from datetime import date
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, Field, create_model

from autotune.api.workloads import (
    Declared,
    Parameter,
    Registered,
    Registry,
    check_bounded,
    registered,
)
from autotune.base import Scalar
from autotune.space import Space
from autotune.wire.errors import InvalidTuning, SettingsError


class Colour(StrEnum):
    GREY = "grey"
    RED = "red"


class Depth(IntEnum):
    SHALLOW = 18
    DEEP = 50


class Own(BaseModel):
    colour: Colour = Colour.GREY
    depth: Depth = Depth.SHALLOW
    loss: Literal["l1", "l2"] = "l2"
    folder: Path = Path("data")
    rate: float = 0.5


OWN = Registered(model="m:f", dataset="m:g", parameters=Own)


@pytest.mark.parametrize(
    "given", [{"filters": "8"}, {"filters": True}, {"filters": 8.5}, {"colour": "blue"}]
)
def test_parameters_out_of_bounds_are_refused(registry: Registry, given: dict[str, int]) -> None:
    with pytest.raises(InvalidTuning):
        registry["digits"].validate(given)


def test_what_is_unknown_is_refused_with_what_is_known(registry: Registry) -> None:
    with pytest.raises(InvalidTuning, match=r"'filtres'\. Did you mean filters\?"):
        registry["digits"].validate({"filtres": 8})
    with pytest.raises(InvalidTuning, match="digits"):
        registry["os:system"]


def test_a_space_cannot_smuggle_in_what_no_parameter_allows(registry: Registry) -> None:
    space = Space(strategies=("one_device",), axes={"filters": (8, 100_000)})
    with pytest.raises(InvalidTuning):
        registry["digits"].check_space(space, {})
    other = Space(strategies=("one_device",), axes={"folder": ("/etc",)})
    with pytest.raises(InvalidTuning, match="no parameter"):
        registry["digits"].check_space(other, {})


def test_the_parameters_of_a_package_may_be_of_any_type_that_json_can_give() -> None:
    """A choice, a path: JSON has only a text for them; the factory gets what was sent."""
    given: dict[str, Scalar] = {
        "colour": "red",
        "depth": 50,
        "loss": "l1",
        "folder": "elsewhere",
        "rate": 1,
    }
    assert OWN.validate(given) == {**given, "rate": 1.0}
    assert OWN.validate({}) == Own().model_dump(mode="json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("colour", "blue"),
        ("colour", 1),
        ("depth", 19),
        ("depth", "50"),
        ("loss", "l3"),
        ("folder", 3),
        ("rate", "0.5"),
        ("rate", True),
    ],
)
def test_such_parameters_are_held_to_their_types(name: str, value: Scalar) -> None:
    with pytest.raises(InvalidTuning, match=f"Parameter {name}: "):
        OWN.validate({name: value})


def test_a_space_may_search_over_a_choice() -> None:
    space = Space(strategies=("one_device",), axes={"colour": ("grey", "red")})
    OWN.check_space(space, OWN.validate({}))
    with pytest.raises(InvalidTuning, match="colour"):
        OWN.check_space(space.model_copy(update={"axes": {"colour": ("blue",)}}), {})


class Bounded(BaseModel):
    colour: Colour = Colour.GREY
    day: date = date(2026, 1, 1)
    word: str = Field("a", pattern="^[a-z]{1,8}$")
    maybe: Literal["x", "y"] | None = None
    rate: float = 0.5


@pytest.mark.parametrize(
    "kind", [str, Path, str | None, Annotated[str, Field(max_length=80)], Any, AnyUrl, str | int]
)
def test_a_package_may_not_take_any_text_either(kind: object) -> None:
    free = create_model("Free", title=(kind, "t"))
    with pytest.raises(SettingsError, match="'title' of workload 'team' takes any string"):
        check_bounded("team", Registered(model="m:f", dataset="m:g", parameters=free))


def test_a_text_that_is_bounded_may_be_given() -> None:
    check_bounded("team", Registered(model="m:f", dataset="m:g", parameters=Bounded))


def test_a_script_is_registered_alone() -> None:
    assert registered(Declared(model="train.py")).model == "train.py"
    for odd in ({"model": "train.py", "dataset": "a.py:data"}, {"model": "a.py:model"}):
        with pytest.raises(SettingsError, match="no pair of factories"):
            registered(Declared(**odd))
    units = {"units": Parameter(type="int")}
    with pytest.raises(SettingsError, match="takes no parameters"):
        registered(Declared(model="train.py", parameters=units))


@pytest.mark.parametrize(
    ("model", "dataset"), [("toy.py:f", "toy.py:g"), ("toy:f", "toy:g"), ("train.py", "")]
)
def test_the_digest_of_a_workload_is_that_of_its_code(
    tmp_path: Path, model: str, dataset: str
) -> None:
    workload = registered(Declared(model=model, dataset=dataset))
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        for name in ("toy.py", "train.py"):
            (tmp_path / place / name).write_text("f = g = 1")
    digest = workload.code(tmp_path / "one")
    assert digest == workload.code(tmp_path / "other")
    for name in ("toy.py", "train.py"):
        (tmp_path / "one" / name).write_text("f = g = 2")
    assert workload.code(tmp_path / "one") not in (digest, workload.code(tmp_path / "nowhere"))


def test_another_factory_of_the_same_file_is_other_code(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text("")
    names = ("toy.py:f", "toy.py:g", "json:f", "json:g")
    codes = {registered(Declared(model=each, dataset="toy.py:f")).code(tmp_path) for each in names}
    assert len(codes) == 4
