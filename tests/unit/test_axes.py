"""An axis that a test adds is legal, rendered, reported, documented and offered everywhere."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Annotated, Literal

import pytest
import yaml
from pydantic import Field, ValidationError

from autotune import config, installed
from autotune.axis import Axis, AxisRole, Line, Place, Trend
from autotune.config import Configuration, axes, register_axes, unregister_axes
from autotune.options import SearchOptions
from autotune.program import render
from autotune.reason import OneDeviceBound, Outcome, SharedInputBound
from autotune.result.files import trials_csv
from autotune.result.html import environment
from autotune.search.bounds import Bounds
from autotune.search.failures import RuledOut
from autotune.search.history import History
from autotune.space import Space, candidates, parse_space
from autotune.space.described import space_text
from autotune.strategies import in_short
from autotune.testing import FAKE_FACTS, FAKE_MACHINE
from autotune.value import Value
from tests.trials import ended_trial
from tools.docs import axes as pages_of_axes
from tools.docs.samples import WORKLOAD


class TestAxes(Value):
    """Axes as an installed package would declare them."""

    __test__ = False

    ordered: Annotated[
        bool,
        Field(description="Whether tf.data gives the examples in order."),
        Axis(
            role=AxisRole.INPUT,
            line=Line(place=Place.OPTIONS, code="options.deterministic = {value}"),
            short="unordered",
        ),
    ] = True
    scaling: Annotated[
        Literal["none", "dynamic"],
        Field(description="How the loss is scaled."),
        Axis(
            role=AxisRole.NUMERICS,
            line=Line(
                place=Place.MODEL,
                code="model.optimizer = scaled(model.optimizer, {value})",
                comment="Scaled, so that small gradients survive.",
            ),
        ),
    ] = "none"
    pinned: Annotated[
        int,
        Field(ge=0, description="Cores that each replica is pinned to."),
        Axis(
            role=AxisRole.PLACEMENT,
            line=Line(place=Place.START, code="os.sched_setaffinity(0, range({value}))"),
        ),
    ] = 0
    readers: Annotated[
        int,
        Field(ge=1, description="Value of readers in the dataset factory."),
        Axis(role=AxisRole.INPUT, needs_parameter="readers", memory=Trend.GROWS),
    ] = 1


ALONE = Configuration(per_replica_batch=32)
BEST = Configuration(per_replica_batch=512)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2, reduction="one_device")
FACTS = FAKE_FACTS.model_copy(update={"dataset_takes": ("readers",)})
SPACE = {
    "strategies": ["one_device", "mirrored"],
    "axes": {
        "ordered": [True, False],
        "pinned": [0, 2],
        "readers": [1, 4],
        "replicas_per_worker": [2],
        "reduction": ["one_device"],
    },
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register_axes(TestAxes)
    yield
    unregister_axes(TestAxes)


def bounds(rates: dict[Configuration, float]) -> Bounds:
    trials = [
        ended_trial(configuration=each, examples_per_second=rate, wall_seconds=1.0)
        for _ in range(4)
        for each, rate in rates.items()
    ]
    return Bounds(History(trials), FAKE_FACTS, margin=0.03)


# Values


def test_a_value_is_checked_and_kept() -> None:
    changed = Configuration().but(ordered=False)
    assert changed["ordered"] is False
    assert changed.but(ordered=True) == Configuration()
    assert Configuration.model_validate_json(changed.model_dump_json()) == changed
    with pytest.raises(ValidationError, match="readers"):
        changed.but(readers=0)


def test_a_placement_has_no_effect_on_one_device() -> None:
    two = TWO.but(pinned=2)
    assert two.canonical() == two
    assert two.on_one_device()["pinned"] == 0
    assert ALONE.but(pinned=2).canonical() == ALONE


class Unmarked(Value):
    """A field that nobody declared to be an axis."""

    some: int = 1


class Taken(Value):
    """A field with the name of a built-in axis."""

    xla: Annotated[int, Axis(role=AxisRole.STEP)] = 1


@pytest.mark.parametrize(
    ("declared", "error"), [(TestAxes, ValueError), (Taken, ValueError), (Unmarked, TypeError)]
)
def test_a_wrong_declaration_is_refused(declared: type[Value], error: type[Exception]) -> None:
    with pytest.raises(error):
        register_axes(declared)


def test_installed_packages_bring_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of the group names the class that declares them."""
    unregister_axes(TestAxes)
    entry = EntryPoint("test", f"{__name__}:TestAxes", "autotune.axes")
    monkeypatch.setattr(installed, "entry_points", lambda *, group: [entry] if group else [])
    config._declarations.cache_clear()
    config._forget()
    assert "ordered" in axes()


# What is skipped with a proof


def test_another_pipeline_proves_nothing() -> None:
    """The input of one device bounds only replicas whose input does the same work."""
    gang = Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data")
    proof = bounds({ALONE: 100.0})
    proof.note_without_input(ALONE, 0.001)
    assert isinstance(proof.why_not(gang), SharedInputBound)
    assert proof.why_not(gang.but(ordered=False)) is None


def test_another_step_proves_nothing() -> None:
    """A replica is bounded by one device that has the same value of an axis nobody knows."""
    proof = bounds({ALONE: 100.0, BEST: 1000.0})
    two = TWO.but(per_replica_batch=32)
    assert isinstance(proof.why_not(two), OneDeviceBound)
    assert proof.why_not(two.but(scaling="dynamic")) is None
    assert isinstance(proof.why_not(two.but(pinned=2)), OneDeviceBound)


@pytest.mark.parametrize(
    ("change", "larger"),
    [
        ({"per_replica_batch": 256}, True),
        ({"ordered": False}, False),
        ({"readers": 8}, True),
        ({"readers": 2}, False),
        ({"arguments": (("filters", 8),)}, False),
    ],
)
def test_memory_is_compared_where_its_direction_is_known(
    change: dict[str, object], *, larger: bool
) -> None:
    """What may need less than a configuration that ran out of memory is tried."""
    configuration = Configuration().but(readers=4)
    failed = ended_trial(configuration=configuration, outcome=Outcome.OUT_OF_MEMORY)
    assert (configuration.but(**change) in RuledOut([failed])) is larger


# Spaces


def test_a_space_holds_its_values() -> None:
    """Every value is tried; a placement only with replicas, a parameter only where it is taken."""
    space = parse_space(SPACE, where="test")
    found = candidates(space, FAKE_MACHINE, FACTS, SearchOptions()).configurations
    assert len(found) == 4 + 8
    assert len({*found}) == 12
    less = candidates(space, FAKE_MACHINE, FAKE_FACTS, SearchOptions()).configurations
    assert {each["readers"] for each in less} == {1}


def test_the_schema_and_the_command_line_name_it() -> None:
    """With its values and its sentence, or the default at which a shown space leaves it."""
    offered = Space.model_json_schema()["properties"]["axes"]["properties"]
    assert offered["scaling"]["items"]["enum"] == ["none", "dynamic"]
    assert offered["scaling"]["description"] == "How the loss is scaled."
    text = space_text(parse_space(SPACE, where="test"), FAKE_MACHINE)
    assert "  # Whether tf.data gives the examples in order.\n  ordered: [true, false]" in text
    assert "Not here" not in text.partition("readers: [")[0].rpartition("Value of readers")[2]
    assert "# scaling: none. How the loss is scaled." in text
    assert parse_space(yaml.safe_load(text), where="test").axes["readers"] == (1, 4)


# The program and the report


def program(configuration: Configuration) -> str:
    return render(configuration, WORKLOAD, FACTS, FAKE_MACHINE).train


def test_the_program_holds_its_line() -> None:
    """Each place has its line where the value is away from the default, and only there."""
    text = program(TWO.but(ordered=False, scaling="dynamic", pinned=1, readers=4))
    lines = [line.strip() for line in text.splitlines()]
    assert "options.deterministic = False" in lines
    assert "os.sched_setaffinity(0, range(1))" in lines
    at = lines.index('model.optimizer = scaled(model.optimizer, "dynamic")')
    assert lines[at - 1] == "# Scaled, so that small gradients survive."
    assert "dataset_fn(readers=4)" in text
    assert "readers = 4" in " ".join(text.split()).partition("Run:")[0]
    assert "options" not in program(TWO)


def test_the_report_names_it() -> None:
    changed = TWO.but(ordered=False, readers=4)
    assert (
        in_short(changed) == "Mirrored x2, batch 2x32, unordered, readers 4, reduction one_device"
    )
    page = str(environment().get_template("fragments.html").module.settings(changed))
    assert "<code>readers</code> <small>Value of readers in the dataset factory.</small>" in page
    (row,) = csv.DictReader(trials_csv([ended_trial(configuration=changed)]).splitlines())
    assert (row["ordered"], row["readers"]) == ("False", "4")


def test_the_documentation_has_a_page() -> None:
    """The page says what the value may be and shows what it changes in the program."""
    text = pages_of_axes.pages()["axes/ordered.md"]
    assert "| Values | `true` or `false` |" in text
    assert "+    options.deterministic = False" in text
