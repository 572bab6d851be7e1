"""What a job needs, and which worker has that."""

import pytest

from autotune.machine import Machine
from autotune.wire.jobs import Needs
from tests.engines.fake import FAKE_MACHINE, fake_machine

GPUS = fake_machine(gpus=("NVIDIA H100 80GB HBM3",) * 2)
MIXED = fake_machine(gpus=("NVIDIA H100 80GB HBM3", "Tesla T4"))
TPUS = fake_machine(tpus=4)
HOSTS = fake_machine(hosts=3)
ALL = [None, FAKE_MACHINE, GPUS, MIXED, TPUS, HOSTS]
"""The first is not known, and so has no devices."""


@pytest.mark.parametrize(
    ("needs", "able"),
    [
        ({}, ALL),
        ({"devices": 1}, ALL[1:]),
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
def test_devices_are_counted_by_their_kind(
    needs: dict[str, object], able: list[Machine | None]
) -> None:
    assert [each for each in ALL if Needs.model_validate(needs).met_by(each, ())] == able


def test_a_worker_has_all_labels_that_are_needed() -> None:
    needs = Needs(labels=("fast", "rack=7"))
    assert needs == Needs(labels=("rack=7", "fast", "fast"))
    assert needs.met_by(None, ("rack=7", "fast", "new"))
    assert not needs.met_by(FAKE_MACHINE, ("fast",))
