"""Registered workloads and their parameters."""

from __future__ import annotations

import pytest

from autotune.api.errors import InvalidTuning, SettingsError
from autotune.api.workloads import Declared, Parameter, Registry, registered
from autotune.space import Space


def test_parameters_are_completed_by_their_defaults(registry: Registry) -> None:
    """A request that names no parameter gets all of them."""
    digits = registry.find("digits")
    assert digits.validate({"filters": 8}) == (("colour", "grey"), ("filters", 8))


@pytest.mark.parametrize(
    "given",
    [
        {"filters": 0},
        {"filters": "8"},
        {"filters": True},
        {"filters": 8.5},
        {"colour": "blue"},
        {"path": "/etc/passwd"},
    ],
)
def test_parameters_out_of_bounds_are_refused(registry: Registry, given: dict[str, int]) -> None:
    """What the workload's own model does not allow never reaches a factory."""
    with pytest.raises(InvalidTuning):
        registry.find("digits").validate(given)


def test_parameters_go_to_the_factory_that_is_declared(registry: Registry) -> None:
    """Each parameter becomes an argument of one factory."""
    digits = registry.find("digits")
    found = digits.arguments(digits.validate({}), "auto")
    assert found.model == (("filters", 32),)
    assert found.dataset == (("colour", "grey"),)


def test_a_space_cannot_smuggle_in_what_no_parameter_allows(registry: Registry) -> None:
    """The own axes of a space are held to the parameters' bounds, too."""
    space = Space(strategies=("one_device",), axes={"filters": (8, 100_000)})
    with pytest.raises(InvalidTuning):
        registry.find("digits").check_space(space, ())
    other = Space(strategies=("one_device",), axes={"folder": ("/etc",)})
    with pytest.raises(InvalidTuning, match="no parameter"):
        registry.find("digits").check_space(other, ())


def test_an_axis_of_the_space_is_no_fixed_argument(registry: Registry) -> None:
    """A parameter that is searched over is left to the search."""
    space = Space(strategies=("one_device",), axes={"filters": (8, 16)})
    digits = registry.find("digits")
    assert digits.arguments(digits.validate({}), space).model == ()


def test_unknown_workloads_are_refused_with_the_known_ones(registry: Registry) -> None:
    """A request can only name what is registered."""
    with pytest.raises(InvalidTuning, match="digits"):
        registry.find("os:system")


def test_a_text_without_choices_is_refused_at_the_start() -> None:
    """A free text could be a path, so the operator cannot declare one by accident."""
    declared = Declared(model="m:f", dataset="m:g", parameters={"p": Parameter(type="str")})
    with pytest.raises(SettingsError, match="choices"):
        registered(declared)
