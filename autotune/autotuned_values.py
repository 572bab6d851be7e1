"""The values that tf.data's AUTOTUNE chose where the input leaves a number to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from autotune.owner import Owner, kind_of
from autotune.value import Value

NOTHING_TOLD = "The run ended before any value was read."
NOTHING_CHOSEN = "The input pipeline does not use AUTOTUNE."
_PARALLELISM = "parallelism"
_SOURCE_FIRST = ("Interleave", "FlatMap")
"""Stages whose further inputs are the datasets that they read from, which come and go."""
Event = Mapping[str, Any]
"""What a process of a run reports of one reading."""
Node = Mapping[str, Any]
Unit = Literal["parallel calls", "batches", "elements"]


_SINGULAR: Mapping[Unit, str] = {
    "parallel calls": "parallel call",
    "batches": "batch",
    "elements": "element",
}
AXES = (Owner.PREFETCH, Owner.NUM_PARALLEL_CALLS)
"""What a program can write as a number instead."""


class AutotunedValue(Value):
    """A number that AUTOTUNE chose for one stage of the input."""

    stage: str
    """Its name in TensorFlow's model of the input, such as `ParallelMapV2`."""
    parameter: str
    """What the number is to TensorFlow: `parallelism`, `buffer_size`."""
    value: int
    """As it was read last."""
    unit: Unit
    owner: Owner
    readings: tuple[int, ...] = ()
    """Every time it was read, oldest first."""
    worker: int = 0
    """Whose input it is; each worker has one of its own."""

    @property
    def moving(self) -> bool:
        """Whether it was another number when it was read the last time before."""
        return len(set(self.readings[-2:])) > 1

    @property
    def amount(self) -> str:
        """The value with its unit: `1 batch`, `4 parallel calls`."""
        return f"{self.value} {_SINGULAR[self.unit] if self.value == 1 else self.unit}"

    @property
    def title(self) -> str:
        """What people call the stage: `map`, `prefetch`; TensorFlow's name for anything else."""
        return kind_of(self.stage) or self.stage


class AutotunedValues(Value):
    """What was read out of one run of the recommended program."""

    choices: tuple[AutotunedValue, ...] = ()
    """Worker by worker; in each from the last stage to the first."""
    seconds: float = 0.0
    """Of training, past its first call, before the last reading."""
    why_not: str = ""
    """Why nothing could be read, as a sentence; empty if something was."""

    def number(self, owner: Owner) -> int | None:
        """Return what a program can write for an axis: the largest of its stages and workers."""
        found = [each.value for each in self.of(owner)]
        return max(found) if found else None

    def of(self, *owners: Owner) -> tuple[AutotunedValue, ...]:
        """Return the choices of some owners."""
        return tuple(each for each in self.choices if each.owner in owners)


class _Number(NamedTuple):
    """Whose number it is, in all readings: each pass over the examples makes new nodes."""

    place: int
    """Of the stage, from the last one on; those within others come last."""
    stage: str
    parameter: str


def autotuned_values(reports: Sequence[tuple[int, Event]]) -> AutotunedValues:
    """Return what was chosen, from the readings of all processes.

    Args:
        reports: Events that hold one reading of one process each, oldest first.
    """
    failures = [event["why_not"] for _, event in reports if "why_not" in event]
    told = [(member, event) for member, event in reports if "nodes" in event]
    if not told:
        return AutotunedValues(why_not=failures[-1] if failures else NOTHING_TOLD)
    members = sorted({member for member, _ in told})
    choices = [
        each
        for member in members
        for each in _of_process(member, [event for other, event in told if other == member])
    ]
    seconds = told[-1][1]["seconds"]
    why_not = "" if choices else NOTHING_CHOSEN
    return AutotunedValues(choices=tuple(choices), seconds=seconds, why_not=why_not)


def _of_process(member: int, told: Sequence[Event]) -> Iterator[AutotunedValue]:
    history = [_numbers(event["nodes"]) for event in told]
    names = [node["name"] for node in _chain(told[-1]["nodes"])]
    owners = [*_owners(names, told[-1]["stages"]), Owner.UNKNOWN]
    for number, value in history[-1].items():
        owner = owners[number.place]
        yield AutotunedValue(
            stage=number.stage,
            parameter=number.parameter,
            value=value,
            unit=_unit(number.parameter, owner),
            owner=owner,
            readings=tuple(each[number] for each in history if number in each),
            worker=member,
        )


def _numbers(nodes: Sequence[Node]) -> dict[_Number, int]:
    """Return what AUTOTUNE has set; of stages within others the largest."""
    chain = _chain(nodes)
    places = {node["id"]: place for place, node in enumerate(chain)}
    found: dict[_Number, int] = {}
    for node in [*chain, *(node for node in nodes if node["id"] not in places)]:
        for parameter in node["parameters"]:
            place = places.get(node["id"], len(chain))
            number = _Number(place, node["name"], parameter["name"])
            if parameter["tunable"]:
                found[number] = max(round(parameter["value"]), found.get(number, 0))
    return found


def _chain(nodes: Sequence[Node]) -> list[Node]:
    """Return the stages in the order in which the program names them, the last one first."""
    known = {node["id"]: node for node in nodes}

    def walk(key: int) -> Iterator[Node]:
        if key not in known:
            return
        yield known[key]
        inputs = sorted(known[key]["inputs"])
        within = any(mark in known[key]["name"] for mark in _SOURCE_FIRST)
        for source in inputs[:1] if within else inputs:
            yield from walk(source)

    return [*walk(nodes[0]["id"])]


def _owners(names: Sequence[str], stages: Sequence[Sequence[str]]) -> list[Owner]:
    """Return whose each stage of the model is.

    The program's stages and TensorFlow's are matched kind by kind, from the source on: what
    TensorFlow adds by itself comes after them.

    Args:
        names: Of the model's stages, the last one first.
        stages: Kind and owner of those that the program wrote, the last one first.
    """
    if not stages:
        return [Owner.UNKNOWN] * len(names)
    found = [Owner.TENSORFLOW] * len(names)
    for kind in {kind for kind, _ in stages}:
        written = [owner for other, owner in stages if other == kind]
        places = [place for place, name in enumerate(names) if kind_of(name) == kind]
        for place, owner in zip(places, _whose(written, len(places)), strict=True):
            found[place] = owner
    return found


def _whose(written: Sequence[str], there: int) -> list[Owner]:
    """Return the owners of all stages of a kind, the last one first."""
    added = there - len(written)
    if added < 0:
        return [Owner.UNKNOWN] * there
    # Where the program wrote a number, or one call after the other, only TensorFlow can have left
    # it to AUTOTUNE.
    return [Owner.TENSORFLOW] * added + [Owner(each or Owner.TENSORFLOW) for each in written]


def _unit(parameter: str, owner: Owner) -> Unit:
    if parameter == _PARALLELISM:
        return "parallel calls"
    return "batches" if owner is Owner.PREFETCH else "elements"
