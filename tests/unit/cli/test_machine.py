"""Spaces and machines, for people."""

from __future__ import annotations

from autotune.cli.machine import machine_table, space_list
from autotune.space import ready_made
from tests.drawing import draw
from tests.engines.fake import FAKE_MACHINE


def test_the_list_names_every_space() -> None:
    text = " ".join(draw(space_list(ready_made()), 160).split())
    for name, space in ready_made().items():
        assert f"{name} {space.description}" in text


def test_the_machine_is_shown_with_the_space_that_fits() -> None:
    text = " ".join(draw(machine_table(FAKE_MACHINE)).split())
    assert "CPU 2 cores of fake memory 8 GiB GPUs none visible to TensorFlow" in text
    assert "space auto cpu" in text
