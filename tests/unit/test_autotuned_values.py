"""What a run told of AUTOTUNE, as values."""

from __future__ import annotations

from typing import Any

from autotune.autotuned_values import (
    NOTHING_CHOSEN,
    NOTHING_TOLD,
    AutotunedValues,
    autotuned_values,
)
from autotune.engine.workers import Report
from autotune.owner import Owner

Numbers = dict[str, float]
WRITTEN = [
    ["prefetch", "prefetch"],
    ["batch", ""],
    ["map", "factory"],
    ["map", ""],
    ["map", "num_parallel_calls"],
]
"""The stages of a program whose dataset factory maps three times, the last one first."""


def node(number: int, name: str, *inputs: int, tunable: bool = True, **numbers: float) -> Any:
    parameters = [
        {"name": name, "value": value, "tunable": tunable} for name, value in numbers.items()
    ]
    return {"id": number, "name": name, "inputs": [*inputs], "parameters": parameters}


def recorded(buffer: float, *calls: float, first: int = 5) -> list[Any]:
    """The model of that program, as TensorFlow 2.21 told it."""
    last, middle, begin = calls
    return [
        node(1, "Root", 2),
        node(2, "Prefetch", 3, buffer_size=buffer),
        node(3, "BatchV2", 4),
        node(4, "ForeverRepeat", first),
        node(first, "ParallelMapV2", first + 1, parallelism=last),
        node(first + 1, "ParallelMapV2", first + 2, parallelism=middle),
        node(first + 2, "ParallelMapV2", first + 3, parallelism=begin),
        node(first + 3, "TensorSlice"),
    ]


def told(seconds: float, nodes: list[Any], stages: Any = (), member: int = 0) -> Report:
    event = {"event": "read_out", "seconds": seconds, "nodes": nodes, "stages": stages}
    return Report(member, event)


def owners(automatic: AutotunedValues) -> dict[str, list[int]]:
    """The numbers by their owners."""
    found: dict[str, list[int]] = {}
    for each in automatic.choices:
        found.setdefault(each.owner, []).append(each.value)
    return found


def test_each_number_has_its_stage_unit_and_owner() -> None:
    """Stages are told apart by who left them to AUTOTUNE, though they have one name."""
    found = autotuned_values([told(3.0, recorded(8, 1, 2, 4), WRITTEN)])
    assert owners(found) == {
        Owner.PREFETCH: [8],
        Owner.FACTORY: [1],
        Owner.TENSORFLOW: [2],
        Owner.NUM_PARALLEL_CALLS: [4],
    }
    prefetch, *maps = found.choices
    assert (prefetch.stage, prefetch.parameter, prefetch.unit) == (
        "Prefetch",
        "buffer_size",
        "batches",
    )
    assert {(each.stage, each.unit) for each in maps} == {("ParallelMapV2", "parallel calls")}
    assert (found.seconds, found.why_not) == (3.0, "")


def test_what_changes_between_readings_is_not_at_rest() -> None:
    """Each pass over the examples makes new nodes, which are the same stages."""
    history = [
        told(1.0, recorded(2, 1, 2, 2)),
        told(2.0, recorded(4, 2, 2, 2, first=9)),
        told(3.0, recorded(8, 2, 2, 2, first=9), WRITTEN),
    ]
    prefetch, last, *_ = autotuned_values(history).choices
    assert (prefetch.readings, prefetch.value, prefetch.moving) == ((2, 4, 8), 8, True)
    assert (last.readings, last.moving) == ((1, 2, 2), False)


def test_a_fixed_number_is_no_choice() -> None:
    """A buffer whose size the program says is not told as AUTOTUNE's."""
    nodes = [node(1, "Prefetch", 2, tunable=False, buffer_size=2), node(2, "TensorSlice")]
    found = autotuned_values([told(3.0, nodes, [["prefetch", ""]])])
    assert (found.choices, found.why_not) == ((), NOTHING_CHOSEN)


def test_what_tensorflow_adds_is_not_the_programs() -> None:
    """A buffer after the program's own belongs to nobody."""
    nodes = [
        node(1, "Prefetch", 2, buffer_size=1),
        node(2, "Rebatch", 3),
        node(3, "Prefetch", 4, buffer_size=5),
        node(4, "TensorSlice"),
    ]
    found = autotuned_values([told(3.0, nodes, [["prefetch", "prefetch"]])])
    assert owners(found) == {Owner.TENSORFLOW: [1], Owner.PREFETCH: [5]}


def test_rewritten_stages_have_no_known_owner() -> None:
    """Where a stage of the program is gone, nobody can say whose the others are."""
    nodes = [node(1, "ParallelMapV2", 2, parallelism=2), node(2, "TensorSlice")]
    found = autotuned_values(
        [told(3.0, nodes, [["map", "factory"], ["map", "num_parallel_calls"]])]
    )
    assert owners(found) == {Owner.UNKNOWN: [2]}


def test_stages_within_an_interleave_are_summed_up() -> None:
    """The datasets that it reads from come and go; only the largest of their numbers is told."""
    nodes = [
        node(1, "ParallelInterleaveV4", 2, 3, 4, parallelism=4),
        node(2, "TensorSlice"),
        node(3, "ParallelMapV2", parallelism=2),
        node(4, "ParallelMapV2", parallelism=6),
    ]
    found = autotuned_values([told(3.0, nodes, [["interleave", "factory"]])])
    assert owners(found) == {Owner.FACTORY: [4], Owner.UNKNOWN: [6]}


def test_each_worker_has_numbers_of_its_own() -> None:
    """What a program can write is the largest, so that no worker gets less than it took."""
    reports = [
        told(3.0, recorded(2, 1, 1, 1), WRITTEN, member=1),
        told(3.0, recorded(4, 1, 1, 3), WRITTEN, member=0),
    ]
    found = autotuned_values(reports)
    assert [each.worker for each in found.of(Owner.PREFETCH)] == [0, 1]
    assert found.number(Owner.PREFETCH) == 4
    assert found.number(Owner.NUM_PARALLEL_CALLS) == 3


def test_why_nothing_was_read_is_kept() -> None:
    """The process says it, or it said nothing at all."""
    refused = Report(0, {"event": "read_out", "seconds": 1.0, "why_not": "Not offered."})
    assert autotuned_values([refused]).why_not == "Not offered."
    assert autotuned_values([]).why_not == NOTHING_TOLD
