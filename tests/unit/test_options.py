"""The options of a search, and the configuration with its axes."""

import inspect
from collections.abc import Iterator

import pytest
import typer
from pydantic import BaseModel, ValidationError

from autotune.cli import app
from autotune.cli.options import help_text
from autotune.config import Configuration, accepts, axes, default_of, describe
from autotune.errors import UsageError
from autotune.face import Face, shown_by
from autotune.options import Declared, SearchOptions, declared, options_from
from autotune.strategies import strategies
from autotune.wire.jobs import Tuning


@pytest.fixture(autouse=True)
def _face() -> Iterator[None]:
    """What is wrong is told as the command tells it."""
    with shown_by(Face.COMMAND):
        yield


@pytest.mark.parametrize(
    ("given", "value"),
    [("90s", 90.0), ("3min", 180.0), (45, 45.0), (1.5, 1.5), (None, None), ("auto", None)],
)
@pytest.mark.parametrize("name", ["budget", "train_for"])
def test_a_length_of_time_may_be_left_to_the_search(
    name: str, given: object, value: float | None
) -> None:
    assert getattr(SearchOptions.model_validate({name: given}), name) == value
    assert getattr(SearchOptions(), name) is None


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("train_for", "0", "--train-for: A length of time must be positive, not 0. Use a format"),
        ("train_for", -60, "--train-for: A length of time must be positive, not -60. Use a format"),
        ("train_for", "8761h", "--train-for: A training of 8,761 hours is longer than a year. Use"),
        ("train_for", "none", "--train-for: 'none' is not a valid duration. Use a format"),
        ("epochs", 0, "--epochs: must be at least 1, not 0."),
    ],
)
def test_a_length_that_no_training_has_is_told_with_what_to_do(
    name: str, given: object, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        options_from({name: given})
    assert str(caught.value).startswith(words)
    assert SearchOptions(train_for="8760h").train_for == 365 * 86400


def test_lists_may_be_written_with_commas() -> None:
    read = options_from({"strategies": "mirrored, tpu", "workers": "1,2, 4"})
    assert (read.strategies, read.workers) == (("mirrored", "tpu"), (1, 2, 4))


@pytest.mark.parametrize("given", ["mirored", ("one_device", "mirored")])
def test_an_unknown_strategy_is_told_with_what_was_meant(given: object) -> None:
    with pytest.raises(UsageError, match=r"'mirored'.*Did you mean mirrored"):
        SearchOptions(strategies=given)
    with pytest.raises(UsageError, match="--strategies: Unknown strategy"):
        options_from({"strategies": given})


@pytest.mark.parametrize(
    "given",
    [
        {"margin": -1},
        {"margin": float("nan")},
        {"budget": "soon"},
        {"budget": -1},
        {"budget": True},
        {"budget": 10**400},
        {"train_for": float("inf")},
        {"epochs": 2.5},
        {"epochs": "ten"},
        {"max_trials": 0},
        {"max_trials": "3"},
        {"seed": -1},
        {"global_batch": 2**40},
        {"strategies": ["a"] * 65},
        *({"workers": each} for each in ("", "0", "-1", "1.5", "two", "1,x", "\u0663")),
        {"allow_asynchronous": 1},
    ],
)
def test_a_wrong_value_is_a_usage_error_that_names_the_option(given: dict[str, object]) -> None:
    (name,) = given
    with pytest.raises(UsageError, match=f"^{name}"):
        SearchOptions(**given)
    with pytest.raises(UsageError, match=f"^--{name.replace('_', '-')}"):
        options_from(given)


def test_a_wrong_value_and_an_unknown_option_are_told_in_our_words() -> None:
    with pytest.raises(UsageError, match=r"^--max-trials: must be at least 1, not 0\.$"):
        options_from({"max_trials": 0})
    with pytest.raises(UsageError, match=r"no option margn.*mean margin"):
        SearchOptions(margn=0.1)


def test_options_within_another_value_are_validated_in_place() -> None:
    """There pydantic's own error tells where the mistake stands."""

    class Outer(BaseModel):
        options: SearchOptions

    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"options": {"margin": -1}})
    assert caught.value.errors()[0]["loc"] == ("options", "margin")


def test_the_bounds_are_those_that_a_study_stands_on() -> None:
    """Another seed, margin, budget or length of the training continues the same study."""
    other = SearchOptions(seed=3, budget="9s", margin=0.5, train_for="6h", epochs=3)
    assert other.bounds == SearchOptions().bounds
    assert SearchOptions(workers=(2,)).bounds != SearchOptions().bounds


TUNE = typer.Context(typer.main.get_command(app).commands["tune"])


@pytest.mark.parametrize("option", declared(), ids=lambda each: each.name)
def test_the_command_line_offers_what_is_declared(option: Declared) -> None:
    (found,) = (each for each in TUNE.command.get_params(TUNE) if each.name == option.name)
    assert option.flag in found.opts
    assert found.help == help_text(option)
    assert options_from({option.name: found.default}) == SearchOptions()
    if option.minimum is not None:
        bounds = found.get_help_record(TUNE)[1]
        assert f"{option.minimum:g}<=x<={option.maximum}" in bounds


@pytest.mark.parametrize("option", declared(), ids=lambda each: each.name)
def test_the_rest_schema_offers_what_is_declared(option: Declared) -> None:
    found = Tuning.model_json_schema()["properties"][option.name]
    assert " ".join(found["description"].split()) == option.description
    assert found.get("default") == option.default
    for each in found.get("anyOf", [found]):
        if each["type"] in ("integer", "number") and option.minimum is not None:
            assert (each["minimum"], each["maximum"]) == (option.minimum, option.maximum)


def test_the_docstring_of_the_call_leads_to_the_options() -> None:
    assert [each.name for each in declared()] == list(SearchOptions.model_fields)
    for option in declared():
        assert option.description.endswith(".")
        assert option.description in " ".join((inspect.getdoc(SearchOptions) or "").split())


def test_every_field_but_the_users_own_is_an_axis() -> None:
    """Some strategy has it, and its default is one of its values."""
    assert {*axes(), "arguments"} == {*Configuration.model_fields}
    for name in axes():
        assert any(each.has(name) for each in strategies().values()), name
        assert accepts(name, default_of(name)) is None


@pytest.mark.parametrize("name", list(Configuration.model_fields))
def test_every_axis_is_documented_in_a_sentence(name: str) -> None:
    assert describe(name)[0].isupper()
    assert describe(name).endswith(".")


def test_processes_and_replicas_are_counted() -> None:
    configuration = Configuration(workers=2, replicas_per_worker=2, per_replica_batch=8)
    assert (configuration.replicas, configuration.global_batch) == (4, 32)
    served = configuration.but(servers=1)  # One more gives the orders then.
    assert (configuration.processes, served.processes, served.replicas) == (2, 4, 4)
