"""Factories are called with what they declare. How they are imported is tested with real ones."""

from typing import Any

import pytest

from autotune.engine.child.inspect import LoadedFactory, called
from autotune.errors import FactoryFailed

OFFERED = {"input_context": "context", "batch_size": 32}


def plain() -> None: ...
def batching(batch_size: int) -> None: ...
def optional(folder: str = "here", *, input_context: Any = None) -> None: ...
def open_ended(*args: Any, **kwargs: Any) -> None: ...
def positional(path: str, /) -> None: ...
def demanding(units: int, batch_size: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "fixed", "values"),
    [
        (plain, {}, {}),
        (batching, {}, {"batch_size": 32}),
        (optional, {}, {"input_context": "context"}),
        (optional, {"folder": "there"}, {"input_context": "context", "folder": "there"}),
        (demanding, {"units": 3}, {"batch_size": 32, "units": 3}),
        (demanding, {"units": 3, "batch_size": 8}, {"batch_size": 8, "units": 3}),
        (open_ended, {"anything": 1}, {"anything": 1}),
    ],
)
def test_parameters_are_filled_by_name(
    function: Any, fixed: dict[str, Any], values: dict[str, Any]
) -> None:
    factory = LoadedFactory("dataset", function, fixed)
    factory.fill(OFFERED)
    assert factory.values == values


@pytest.mark.parametrize(
    ("function", "fixed", "words"),
    [
        (demanding, {}, "`dataset_args` units=VALUE"),
        (positional, {}, "'path'"),
        (plain, {"units": 3}, "declares no parameters"),
        (optional, {"unit": 3}, "declares folder, input_context"),
    ],
)
def test_what_cannot_be_filled_is_told(function: Any, fixed: dict[str, Any], words: str) -> None:
    with pytest.raises(FactoryFailed) as caught:
        LoadedFactory("dataset", function, fixed).fill(OFFERED)
    assert words in f"{caught.value.cause} {caught.value.next_step}"


def test_a_factory_may_have_any_parameter() -> None:
    """Also one that is called as those of the function that calls it."""

    def named(name: str, function: int) -> tuple[str, int]:
        return name, function

    assert called("dataset_fn", named, name="digits", function=2) == ("digits", 2)
