"""The ready-made spaces on the machines that they are made for."""

from typing import Any

import pytest

from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.space import candidates, ready_made
from autotune.space.schema import kind_of
from tests.engines.fake import FAKE_FACTS, fake_machine

MACHINES: dict[str, dict[str, Any]] = {
    "cpu-2": {},
    "cpu-16": {"cpus": 16},
    "gpu-1": {"cpus": 16, "gpus": ("A",)},
    "gpu-4": {"cpus": 64, "gpus": ("A",) * 4},
    "gpu-8": {"cpus": 64, "gpus": ("A",) * 8},
    "tpu-8": {"cpus": 64, "tpus": 8},
}
FACTS = FAKE_FACTS.model_copy(
    update={
        "dataset_takes": ("batch_size", "input_context", "num_parallel_calls"),
        "file_shards": 8,
    }
)
"""A workload that declares all it may, so that no axis is idle."""


def machine(name: str) -> Machine:
    return fake_machine(**MACHINES[name])


def pairs() -> list[tuple[str, str]]:
    """Each space on each machine of its kind; those for no kind on all."""
    return [
        (name, where)
        for name, space in ready_made().items()
        for where in MACHINES
        if space.chosen_for in (None, kind_of(machine(where)))
    ]


@pytest.mark.parametrize(("name", "where"), pairs())
def test_it_can_be_searched_on_its_kind_of_machine(name: str, where: str) -> None:
    """It is not too large, all that it holds is there once, and `auto` brings no idle strategy."""
    space = ready_made()[name]
    allowed = SearchOptions(allow_asynchronous=True)
    listed = candidates(space, machine(where), FACTS, allowed).configurations
    assert len(set(listed)) == len(listed)
    assert all(each.canonical() == each for each in listed)
    assert space.chosen_for is None or {c.strategy for c in listed} == set(space.strategies)
