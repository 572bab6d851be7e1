"""Spaces and machines, for people."""

from __future__ import annotations

import pytest
import yaml

from autotune.cli.machine import machine_table, space_list
from autotune.config import describe
from autotune.space import parse_space, ready_made
from autotune.space.described import space_text
from autotune.testing import FAKE_MACHINE
from tests.drawing import draw


def test_the_list_names_every_space() -> None:
    text = " ".join(draw(space_list(ready_made()), 160).split())
    for name, space in ready_made().items():
        assert f"{name} {space.description}" in text


@pytest.mark.parametrize("name", ["quick", "tpu", "multi_worker"])
def test_a_space_is_shown_as_a_file_to_copy(name: str) -> None:
    space = ready_made()[name]
    read = parse_space(yaml.safe_load(space_text(space, FAKE_MACHINE)), where="test")
    assert read == space.model_copy(update={"chosen_for": None})


def test_values_that_cannot_run_here_are_named() -> None:
    text = space_text(ready_made()["multi_worker"], FAKE_MACHINE)
    assert "# Not here: 3, 4, 8.\n  workers: [2, 3, 4, 8]" in text
    assert describe("workers") in text


def test_a_strategy_that_cannot_run_here_says_why() -> None:
    """One space holds all of them; without a TPU its strategy has no configuration."""
    text = " ".join(space_text(ready_made()["every"], FAKE_MACHINE).replace("#", "").split())
    assert "- tpu: 0 configurations." in text
    assert "Not here: TensorFlow sees no TPU on this machine." in text
    assert "Not here: It trains asynchronously" in text


def test_the_machine_is_shown_with_the_space_that_fits() -> None:
    text = " ".join(draw(machine_table(FAKE_MACHINE)).split())
    assert "CPU 2 cores of fake memory 8 GiB GPUs none visible to TensorFlow" in text
    assert "space auto cpu" in text
