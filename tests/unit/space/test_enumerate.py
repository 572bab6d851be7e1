"""Which configurations a space holds on a machine, and the rules that limit it."""

from typing import Any

import pytest

from autotune.config import Configuration, default_of
from autotune.errors import DatasetTooSmall, SpaceError
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.reason.sentences import rule_text
from autotune.search.setup import nearest
from autotune.shared_values import Change
from autotune.space import Candidates, candidates, parse_space
from autotune.workload import Cacheable, FitCall, FitData, FitFacts, Returned
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, fake_machine

FOUR = fake_machine(cpus=4)
VARYING = Cacheable(elements=10, element_bytes=8, change=Change.EXAMPLES)
EVERYTHING = ["one_device", "mirrored", "multi_worker_mirrored"]
TWO = {"replicas_per_worker": [2], "workers": [2]}
FITS = FitFacts(line=6, others=(FitCall(line=9, of="gan"),))


def found(
    axes: dict[str, Any],
    *,
    strategies: list[str] = EVERYTHING,
    facts: dict[str, Any] | None = None,
    machine: Machine = FAKE_MACHINE,
    **bounds: Any,
) -> Candidates:
    return candidates(
        parse_space({"strategies": strategies, "axes": axes}, where="test"),
        machine,
        FAKE_FACTS.model_copy(update=facts or {}),
        SearchOptions(**bounds),
    )


def rules(candidates: Candidates) -> str:
    return " | ".join(rule_text(limit.rule) for limit in candidates.limits)


def test_one_device_is_always_there() -> None:
    space = found({"replicas_per_worker": [2]}, strategies=["mirrored"])
    assert {c.strategy for c in space.configurations} == {"one_device", "mirrored"}


def test_one_device_is_there_at_the_global_batch_of_several() -> None:
    """Where the space bounds the batch of a replica, or a gain of the batch would seem another."""
    space = found({"replicas_per_worker": [2], "per_replica_batch": [32, 64]})
    assert {c.global_batch for c in space.distributed} == {64, 128}
    assert {c.global_batch for c in space.one_device} == {32, 64, 128}
    assert max(c.global_batch for c in found(TWO, max_global_batch=64).one_device) == 64


def test_the_batch_of_a_script_is_tried_too() -> None:
    facts = {"usual_batch": 48, "fit": FitFacts(line=6)}
    space = found({"per_replica_batch": [32, 64]}, facts=facts)
    assert {c.per_replica_batch for c in space.one_device} == {32, 48, 64}
    assert nearest(Configuration(per_replica_batch=48), space.one_device).per_replica_batch == 48
    assert found({"per_replica_batch": [32]}, facts={"usual_batch": 48}).one_device == (
        Configuration(),
    )


def test_a_global_batch_counts_all_replicas() -> None:
    """One that is fixed is divided between them; a bound holds for all together."""
    space = found(TWO, global_batch=64)
    assert {c.global_batch for c in space.configurations} == {64}
    assert {c.per_replica_batch for c in space.distributed} == {32}
    bound = found({**TWO, "per_replica_batch": [32, 64]}, max_global_batch=64)
    assert {c.global_batch for c in bound.configurations} == {32, 64}


@pytest.mark.parametrize(
    ("batch", "replicas", "nearest"), [(265, 2, 264), (267, 4, 268), (266, 4, 264), (3, 2, 2)]
)
def test_the_nearest_multiple_of_the_replicas_is_tried(
    batch: int, replicas: int, nearest: int
) -> None:
    """Of two the smaller one; it is matched by one device at the batch that was asked for."""
    space = found({"replicas_per_worker": [replicas]}, global_batch=batch, machine=FOUR)
    assert {c.global_batch for c in space.distributed} == {nearest}
    assert {c.global_batch for c in space.one_device} == {batch}


@pytest.mark.parametrize(("batch", "fit"), [(1, None), (65, FitFacts(line=6, only_batch=65))])
def test_a_batch_without_a_near_multiple_leaves_one_device(batch: int, fit: FitFacts) -> None:
    """Half as many more are another training, and a script may be able to have no others."""
    space = found(TWO, facts={"fit": fit}, global_batch=batch)
    assert not space.distributed
    assert f"a global batch of {batch} is odd, and Keras's fit needs equal replicas" in rules(space)


def test_eager_execution_is_the_users_own_and_nobody_elses() -> None:
    """Where the user asks for it, one device has it once, beside all that are compiled."""
    axes = {"per_replica_batch": [32, 64], "replicas_per_worker": [2]}
    facts = {"eager": True, "usual_batch": 64}
    [own] = [c for c in found(axes, facts=facts).configurations if c.run_eagerly]
    assert (own.distributed, own.per_replica_batch) == (False, 64)
    assert not any(c.run_eagerly for c in found(axes).configurations)


def test_what_cannot_be_compiled_stays_on_one_device() -> None:
    axes = {"per_replica_batch": [32, 64], "replicas_per_worker": [2]}
    space = found(axes, facts={"eager": True, "uncompilable": "TypeError in train.py line 9"})
    assert not space.distributed
    assert all(c.run_eagerly for c in space.one_device)
    assert "compiling it fails (TypeError in train.py line 9)" in rules(space)


def test_a_train_function_of_the_models_own_needs_fit() -> None:
    """Loops would not call it, and it knows nothing of several steps in a call."""
    axes = {"replicas_per_worker": [2], "workers": [2], "reduction": ["one_device", "default"]}
    space = found(axes | {"steps_per_execution": [1, 8]}, facts={"own_train_function": True})
    assert {(c.reduction, c.steps_per_execution) for c in space.distributed} == {
        *(("one_device", 1), ("default", 1))
    }
    assert "is called by Model.fit alone" in rules(space)


def test_a_batch_that_is_built_in_is_never_divided() -> None:
    """It is a value of the axis, and replicas take it whole or not at all."""
    axes = {"per_replica_batch": [16, 32], "replicas_per_worker": [2]}
    whole = found(axes, facts={"built_in_batch": 12, "usual_batch": 12})
    assert {c.per_replica_batch for c in whole.configurations} == {12}
    only = FitFacts(line=6, only_batch=12)
    bound = found(axes, facts={"built_in_batch": 12, "fit": only}, global_batch=12)
    assert not bound.distributed


@pytest.mark.parametrize(
    ("axes", "facts", "rule"),
    [
        ({"per_replica_batch": [32, 20_000]}, {}, "exceed the dataset, which has 10,000"),
        ({"steps_per_execution": [1, 400]}, {}, "fewer steps than steps_per_execution"),
        ({"cache": ["off", "memory"]}, {"repeatable": False}, "cache would change the training"),
        ({"cache": ["off", "memory"]}, {"examples": None}, "may never fill"),
        ({"cache": ["off", "memory"]}, {"example_bytes": 2**20}, "too much to cache"),
        (
            {"cache": ["off", "memory"]},
            {"repeatable": False, "random_stage": "Map"},
            "in every pass (Map); one before what is random would not",
        ),
        ({"cache": ["off", "memory"]}, {"handed": (VARYING,)}, "hands to `cache` differs"),
        ({"cache": ["off", "memory"]}, {"cached": True}, "a cache of its own"),
        (
            {"cache": ["off", "memory"]},
            {"cached": True, "frozen_stage": "ParallelMap"},
            "after a random stage (ParallelMap), so every epoch gets what was drawn in the first",
        ),
        (
            {"cache": ["off", "memory", "file"]},
            {"example_bytes": 2**20},
            "too much to cache on the free disk",
        ),
        ({"intra_op_parallelism_threads": [0, 64]}, {}, "than cores (2)"),
        ({"precision": ["float32", "mixed_float16"]}, {}, "only on GPUs"),
        ({"replicas_per_worker": [1, 2]}, {}, "same as one device"),
        ({"workers": [2]}, {"carried_state": "layer gru"}, "to the next (layer gru)"),
        ({"per_replica_batch": [32, 64]}, {"carried_state": "layer gru"}, "(layer gru)"),
        ({"replicas_per_worker": [2]}, {"accumulated_steps": 4}, "the gradients of 4 steps"),
        ({"per_replica_batch": [16, 32]}, {"built_in_batch": 32}, "a batch of 32 is built into"),
        ({"workers": [2]}, {"fit": FITS}, "may call another one in line 9"),
    ],
)
def test_each_rule_names_itself(axes: dict[str, Any], facts: dict[str, Any], rule: str) -> None:
    """What cannot run here is left out, with the reason in words; the rest stays."""
    space = found(axes, facts=facts)
    assert rule in rules(space)
    assert space.one_device


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"repeatable": False, "shuffle_buffer": 100},
        {"repeatable": False, "handed": (Cacheable(elements=10, element_bytes=8),)},
        {"cached": True, "handed": (Cacheable(elements=10, element_bytes=8),)},
    ],
    ids=["repeatable", "shuffled", "handed over", "another one elsewhere"],
)
def test_a_cache_is_tried_where_it_changes_nothing(facts: dict[str, Any]) -> None:
    """Behind a dataset that repeats or is shuffled anew, or where the factory wants it."""
    space = found({"cache": ["off", "memory", "file"]}, facts=facts)
    assert {c.cache for c in space.one_device} == {"off", "memory"}


def test_a_file_is_tried_where_memory_is_too_small() -> None:
    """Even if only the copies of two workers are too large for it."""
    memory = FAKE_MACHINE.memory
    machine = fake_machine(free_disk=8 * memory)
    for share, single, both in [
        (6, {"off", "memory"}, {"off", "file"}),
        (2, {"off", "file"}, {"off", "file"}),
        (16, {"off", "memory"}, {"off", "memory"}),
    ]:
        facts = {"example_bytes": memory // share // 10_000}
        axes = {"cache": ["off", "memory", "file"], "workers": [2], "shard_policy": ["data"]}
        space = found(axes, facts=facts, machine=machine)
        own = [c for c in space.one_device if c.per_replica_batch == 32]
        assert {c.cache for c in own} == single
        assert {c.cache for c in space.distributed} == both


def test_who_reads_a_share_caches_a_share() -> None:
    facts = {
        "example_bytes": FAKE_MACHINE.memory // 5 // 10_000,
        "dataset_takes": ("input_context",),
    }
    axes = {"cache": ["off", "memory"], "workers": [2], "shard_policy": ["source", "data"]}
    space = found(axes, facts=facts)
    cached = {c.shard_policy for c in space.distributed if c.cache == "memory"}
    assert cached == {"source"}


def test_asynchronous_strategies_need_to_be_allowed() -> None:
    axes = {"workers": [2], "servers": [1], "shard_policy": ["data"]}
    names = ["one_device", "parameter_server"]
    usual = found(axes, strategies=names)
    assert not usual.distributed
    assert "trains asynchronously" in rules(usual)
    assert "allow_asynchronous=True" in rules(usual)
    allowed = found(axes, strategies=names, allow_asynchronous=True)
    assert [(c.workers, c.servers, c.processes) for c in allowed.distributed] == [(2, 1, 4)]


def test_an_axis_of_the_users_own_reaches_the_factory() -> None:
    space = found({"units": [8, 16]}, strategies=["one_device"], facts={"model_takes": ("units",)})
    assert [c.arguments for c in space.configurations] == [(("units", 8),), (("units", 16),)]


@pytest.mark.parametrize(
    ("axis", "facts"),
    [
        ("num_parallel_calls", {"dataset_takes": ("num_parallel_calls",)}),
        ("py_dataset_workers", {"returned": Returned(by_python=True)}),
        ("py_dataset_workers", {"fit": FitFacts(data=FitData.PY_DATASET)}),
    ],
)
def test_an_axis_of_some_inputs_has_one_value_with_others(axis: str, facts: dict[str, Any]) -> None:
    """A factory declares the parameter; a `PyDataset` has workers, whoever gives it."""
    axes = {axis: [default_of(axis), 4]}
    assert len(found(axes, strategies=["one_device"]).configurations) == 1
    assert len(found(axes, strategies=["one_device"], facts=facts).configurations) == 2


def test_a_dataset_smaller_than_every_batch_is_an_error() -> None:
    with pytest.raises(DatasetTooSmall, match="10 examples"):
        found({}, facts={"examples": 10})


def test_a_space_that_cannot_be_searched_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a strategy that is asked for, or with too many configurations.

    It is refused before its structures are listed, even if none of them can run.
    """
    space = parse_space({"strategies": ["one_device"]}, where="test")
    with pytest.raises(SpaceError, match="tpu"):
        candidates(space, FAKE_MACHINE, FAKE_FACTS, SearchOptions(strategies=("tpu",)))
    wide = list(range(1, 61))
    axes = {"per_replica_batch": wide, "prefetch": wide, "private_threadpool_size": wide}
    with pytest.raises(SpaceError, match="combinations"):
        found(axes, strategies=["one_device"])
    monkeypatch.setattr("autotune.space.enumerate.MAX_CONFIGURATIONS", 3)
    with pytest.raises(SpaceError, match="combinations"):
        found({"workers": [1000, 1001, 1002, 1003]}, strategies=["multi_worker_mirrored"])


def test_what_cannot_run_does_not_count_towards_the_size() -> None:
    """Ways of distributing that the machine has no room for multiply nothing, but are reported."""
    wide = list(range(1, 61))
    space = found({"workers": wide, "per_replica_batch": wide, "prefetch": wide})
    assert sum(c.workers == 2 for c in space.configurations) == 60 * 60
    assert all(f"too few for {count} workers" in rules(space) for count in wide[2:])
    # Mirrored without replicas, and all numbers of workers but two.
    assert sum(limit.configurations for limit in space.limits) == 60 * 60 * (1 + 59)


def test_each_configuration_counts_for_one_rule() -> None:
    axes = {"replicas_per_worker": [2, 8], "per_replica_batch": [32, 6_000], "xla": [False, True]}
    space = found(axes, strategies=["one_device", "mirrored"])
    broken = sum(limit.configurations for limit in space.limits)
    # One device at the global batch of several is beside the space.
    matches = [c for c in space.one_device if c.per_replica_batch not in (32, 6_000)]
    assert len(space.configurations) - len(matches) + broken == 2 * 2 + 2 * 2 * 2
