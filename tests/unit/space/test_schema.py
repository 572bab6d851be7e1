"""What a space may hold, and what is said of what it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune.errors import SpaceError
from autotune.options import SearchOptions
from autotune.space import candidates, load_space, parse_space, ready_made, space_for
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, fake_machine

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "search_spaces").glob("*.yaml")), ids=lambda path: path.stem
)
def test_ready_made_spaces_are_valid_and_named_by_their_file(path: Path) -> None:
    """Adding a space is adding a file: it is found by its name and says what it is for."""
    space = ready_made()[path.stem]
    assert space.name == path.stem
    assert space.description.endswith(".")


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({}, "cpu"),
        ({"gpus": ("A",)}, "gpu"),
        ({"gpus": ("A", "A")}, "multi_gpu"),
        ({"tpus": 8}, "tpu"),
    ],
)
def test_auto_picks_by_machine(machine: dict[str, Any], expected: str) -> None:
    assert space_for(fake_machine(**machine)).name == expected


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"strategies": ["mirored"]}, "Did you mean mirrored?"),
        ({"strategies": []}, "'strategies' is empty"),
        ({}, "strategies"),
        ({"strategies": ["one_device"], "axes": {"prefetch": []}}, "'prefetch' has no values"),
        ({"strategies": ["one_device"], "axes": {"per_replica_batch": [0]}}, "cannot be 0"),
        ({"strategies": ["one_device"], "axes": {"per_replica_batch": ["8"]}}, "cannot be '8'"),
        ({"strategies": ["one_device"], "axes": {"xla": [1]}}, "it must be true or false."),
        ({"strategies": ["one_device"], "axes": {"shard_policy": ["some"]}}, "cannot be 'some'"),
        ({"strategies": ["one_device"], "axes": {"prefetch": [2, 2]}}, "has duplicate values"),
        ({"strategies": ["one_device"], "axes": {"strategy": ["x"]}}, "list strategies under"),
        ({"strategies": ["one_device"], "oops": 1}, "oops"),
        (["one_device"], "a space must be a mapping"),
    ],
)
def test_mistakes_are_named_in_one_line(data: Any, said: str) -> None:
    with pytest.raises(SpaceError) as caught:
        parse_space(data, where="my.yaml")
    assert said in str(caught.value)
    assert "my.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ".." not in str(caught.value)


WRONG = """\
strategies: [one_device, mirored]
oops: 1
axes:
  prefetch: [[1]]
  cache: [memry, off]
"""
WRONG_AXES = """\
strategies: [one_device]
axes:
  per_replica_batch: [0]

  cache: [memry]
"""


def test_all_mistakes_of_a_file_are_told_with_their_lines(tmp_path: Path) -> None:
    """In our words."""
    path = tmp_path / "mine.yaml"
    for text, lines in [
        (WRONG, ["line 1: Unknown strategy 'mirored'", "line 2: there is no 'oops'", "line 4: "]),
        (WRONG_AXES, ["line 3: axis 'per_replica_batch' cannot be 0", "Did you mean memory?"]),
        ("strategies: [one_device\n", ["line 2: expected", "for what begins in line 1"]),
        ("strategies: 3", ["line 1: 'strategies' must be a list"]),
    ]:
        path.write_text(text)
        with pytest.raises(SpaceError) as caught:
            load_space(str(path))
        told = str(caught.value)
        assert all(each in told for each in lines), told
        assert "Input" not in told
        assert "unicode" not in told
        assert told.count("axes.prefetch") == 0


def test_a_bare_off_in_yaml_means_off(tmp_path: Path) -> None:
    """YAML 1.1 reads `off` as false; the space reads it as the user meant it."""
    path = tmp_path / "mine.yaml"
    path.write_text("strategies: [one_device]\naxes: {cache: [off, memory], xla: [off]}\n")
    space = load_space(str(path))
    assert space.axes == {"cache": ("off", "memory"), "xla": (False,)}


def test_a_mistyped_name_gets_a_proposal() -> None:
    """The closest name comes first, then all of them."""
    with pytest.raises(SpaceError, match=r"'quik'\. Did you mean quick\? Available: auto, cpu"):
        load_space("quik")


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    """The system's words do not repeat the path."""
    path = tmp_path / "own.yaml"
    with pytest.raises(SpaceError) as caught:
        load_space(str(path))
    assert str(caught.value) == f"{path} cannot be read: No such file or directory. Check the path."


@pytest.mark.parametrize(
    ("axis", "hint"), [("prefech", "Did you mean prefetch"), ("q", "Available: ")]
)
def test_an_unknown_axis_gets_a_proposal(axis: str, hint: str) -> None:
    space = parse_space({"strategies": ["one_device"], "axes": {axis: [1, 2]}}, where="own")
    with pytest.raises(SpaceError, match=hint):
        candidates(space, FAKE_MACHINE, FAKE_FACTS, SearchOptions())
