"""Values as people write them."""

from __future__ import annotations

import pytest

from autotune.cli.options import pairs, scalar
from autotune.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("512", 512),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("2.5E+2", 250.0),
        ("true", True),
        ("adam", "adam"),
        ("'8'", "8"),
        ("", ""),
        ("a: b: c", "a: b: c"),
        ("2024-01-31", "2024-01-31"),
        ("mean=3", "mean=3"),
    ],
)
def test_a_value_is_read_as_a_yaml_scalar(text: str, expected: object) -> None:
    """Numbers and truth values are what they look like, anything else is text."""
    value = scalar(text, "--model-arg")
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize("text", ["[1, 2]", "{a: 1}", "null"])
def test_a_value_that_no_argument_can_have(text: str) -> None:
    """Lists, mappings and nothing are refused."""
    with pytest.raises(UsageError, match="--model-arg does not accept"):
        scalar(text, "--model-arg")


def test_pairs_keep_what_follows_the_first_equals_sign() -> None:
    """A value may hold an equals sign."""
    assert pairs(["units=512", "filter=a=b"], "--dataset-arg") == {"units": 512, "filter": "a=b"}


@pytest.mark.parametrize("text", ["units", "=5", "two words=5", "9=1"])
def test_a_malformed_pair_is_named(text: str) -> None:
    """The message says which one, and how to write it."""
    with pytest.raises(UsageError, match=r"is not NAME=VALUE\. For example: --model-arg units=512"):
        pairs([text], "--model-arg")


def test_a_name_that_comes_twice_is_an_error() -> None:
    """Nobody can know which of them was meant."""
    with pytest.raises(UsageError, match="'a' twice"):
        pairs(["a=1", "a=2"], "--model-arg")
