"""What a job needs, and which worker has that."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from autotune.api.needs import Needs
from autotune.machine import Machine
from autotune.testing import FAKE_MACHINE, fake_machine

GPUS = fake_machine(gpus=("NVIDIA H100 80GB HBM3",) * 2)
MIXED = fake_machine(gpus=("NVIDIA H100 80GB HBM3", "Tesla T4"))
TPUS = fake_machine(tpus=4)
HOSTS = fake_machine(hosts=3)


@pytest.mark.parametrize(
    ("needs", "able"),
    [
        ({}, [FAKE_MACHINE, GPUS, MIXED, TPUS, HOSTS]),
        ({"devices": 2}, [GPUS, MIXED, TPUS, HOSTS]),
        ({"devices": 3}, [TPUS, HOSTS]),
        ({"kind": "gpu"}, [GPUS, MIXED]),
        ({"kind": "GPU", "devices": 2}, [GPUS, MIXED]),
        ({"kind": "h100", "devices": 2}, [GPUS]),
        ({"kind": "cpu"}, [FAKE_MACHINE, HOSTS]),
        ({"kind": "cpu", "devices": 3}, [HOSTS]),
        ({"kind": "tpu", "devices": 4}, [TPUS]),
        ({"kind": "A100"}, []),
    ],
)
def test_devices_are_counted_by_their_kind(needs: dict[str, object], able: list[Machine]) -> None:
    everything = [FAKE_MACHINE, GPUS, MIXED, TPUS, HOSTS]
    assert [each for each in everything if Needs.model_validate(needs).met_by(each, ())] == able


def test_a_worker_has_all_labels_that_are_needed() -> None:
    needs = Needs(labels=("fast", "rack=7"))
    assert needs == Needs(labels=("rack=7", "fast", "fast"))
    assert needs.met_by(None, ("rack=7", "fast", "new"))
    assert not needs.met_by(FAKE_MACHINE, ("fast",))


def test_a_machine_that_is_not_known_has_no_devices() -> None:
    assert Needs().met_by(None, ())
    assert not Needs(devices=1).met_by(None, ())


def test_needs_are_told_in_words() -> None:
    assert str(Needs(devices=2, kind="H100", labels=("fast",))) == (
        "at least 2 H100 devices, labelled fast"
    )
    assert str(Needs(kind="gpu")) == "at least 1 gpu device"
    assert str(Needs()) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"devices": 0},
        {"devices": True},
        {"kind": "%"},
        {"kind": "x" * 100},
        {"labels": ["a b"]},
        {"labels": ["\ud800"]},
        {"labels": [f"l{n}" for n in range(17)]},
        {"gpus": 2},
    ],
)
def test_odd_needs_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Needs.model_validate(wrong)
