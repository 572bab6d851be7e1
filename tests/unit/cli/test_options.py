"""The options of the commands: their values as people write them, and what Tab offers."""

from pathlib import Path

import pytest

from autotune.cli.options import pairs, scalar, space_names, strategy_names
from autotune.errors import UsageError
from autotune.space import ready_made
from autotune.strategies import strategies


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
    value = scalar(text, "--model-arg")
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize("text", ["[1, 2]", "{a: 1}", "null"])
def test_a_value_that_no_argument_can_have(text: str) -> None:
    with pytest.raises(UsageError, match="--model-arg does not accept"):
        scalar(text, "--model-arg")


def test_pairs_keep_what_follows_the_first_equals_sign() -> None:
    assert pairs(["units=512", "filter=a=b"], "--dataset-arg") == {"units": 512, "filter": "a=b"}


def test_a_malformed_pair_is_named() -> None:
    """The message says which one, and how to write it; or that nobody knows which was meant."""
    for text in ("units", "=5", "two words=5"):
        with pytest.raises(UsageError, match=f"{text}.* is not NAME=VALUE.*--model-arg name=value"):
            pairs([text], "--model-arg")
    with pytest.raises(UsageError, match="'a' twice"):
        pairs(["a=1", "a=2"], "--model-arg")


def test_every_space_and_strategy_is_offered(folder: Path) -> None:
    """The names are read from the files, and are the ones that the search knows."""
    assert folder.is_dir()
    assert set(space_names("")) == {"auto", *ready_made()}
    assert set(strategy_names("")) == set(strategies())


def test_a_list_goes_on_with_what_it_does_not_have() -> None:
    assert strategy_names("mirrored,mi") == []
    assert "mirrored,one_device" in strategy_names("mirrored,")


def test_files_and_folders_are_offered_too(folder: Path) -> None:
    """A space of one's own is a file."""
    (folder / "spaces").mkdir()
    (folder / "spaces" / "own.yaml").touch()
    (folder / "spaces" / "notes.txt").touch()
    assert space_names("sp") == ["spaces/"]
    assert space_names("spaces/") == ["spaces/own.yaml"]
    assert space_names("nowhere/") == []
