"""What AUTOTUNE settles on is read out of real trainings."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.autotuned_values import AutotunedValues
from autotune.config import Configuration
from autotune.engine.engine import Outcome, TrialRequest
from autotune.engine.local import LocalEngine
from autotune.owner import Owner
from autotune.program import freeze, render
from autotune.search.stopping import read_out_watch
from autotune.strategies import strategy
from autotune.workload import Workload, WorkloadFacts, factory_from_text

pytestmark = pytest.mark.real

FILE = Path(__file__).parent / "programs" / "mapped.py"
FACTS = WorkloadFacts(examples=4096, dataset_takes=("num_parallel_calls",))
CASES = {
    "one device": Configuration(),
    "fit": Configuration(strategy="mirrored", replicas_per_worker=2, reduction="one_device"),
    "loop": Configuration(strategy="mirrored", replicas_per_worker=2, steps_per_execution=8),
    "workers": Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data"),
}


@pytest.fixture
def workload() -> Workload:
    return Workload(
        model=factory_from_text(f"{FILE}:model_fn", {}),
        dataset=factory_from_text(f"{FILE}:dataset_fn", {}),
    )


def read_out(
    engine: LocalEngine, workload: Workload, configuration: Configuration, folder: Path
) -> AutotunedValues:
    machine = engine.machine()
    request = TrialRequest(
        configuration=configuration,
        script=render(configuration, workload, FACTS, machine).train,
        workload=workload,
        roles=strategy(configuration.strategy).roles(configuration, machine),
        folder=folder / "run",
        reads_out=True,
    )
    result = engine.run(request, read_out_watch)
    assert result.outcome is Outcome.MEASURED, f"{result.reason} {result.detail}"
    assert result.automatic is not None
    return result.automatic


@pytest.mark.parametrize("configuration", CASES.values(), ids=CASES.keys())
def test_each_number_is_read_with_its_owner(
    engine: LocalEngine, workload: Workload, configuration: Configuration, tmp_path: Path
) -> None:
    """The buffer, the map with the parameter, that without, and that of the factory's own."""
    found = read_out(engine, workload, configuration, tmp_path)
    assert not found.why_not
    assert {each.worker for each in found.choices} == {*range(configuration.workers)}
    for owner in (Owner.PREFETCH, Owner.NUM_PARALLEL_CALLS, Owner.FACTORY):
        assert len(found.of(owner)) == configuration.workers, owner
        number = found.number(owner)
        assert number is not None
        assert number >= 1
    frozen = freeze(configuration, found)
    assert set(frozen.numbers) == {"prefetch", "num_parallel_calls"}


def test_numbers_of_the_program_are_nobodys_choice(
    engine: LocalEngine, workload: Workload, tmp_path: Path
) -> None:
    """What the configuration fixes is not told; what the factory leaves open still is."""
    fixed = Configuration(prefetch=2, num_parallel_calls=1)
    found = read_out(engine, workload, fixed, tmp_path)
    assert not found.of(Owner.PREFETCH, Owner.NUM_PARALLEL_CALLS)
    assert len(found.of(Owner.FACTORY)) == 1


@pytest.mark.parametrize(("dataset", "leaves"), [("dataset_fn", True), ("plain_fn", False)])
def test_a_look_at_the_factory_tells_whether_it_leaves_numbers(
    engine: LocalEngine, workload: Workload, dataset: str, *, leaves: bool
) -> None:
    """Where neither it nor the configuration does, nothing need be read out."""
    factory = factory_from_text(f"{FILE}:{dataset}", {})
    facts = engine.inspect(workload.model_copy(update={"dataset": factory}))
    assert facts.automatic is leaves
