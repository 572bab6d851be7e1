"""What an axis declares is legal, rendered, reported, documented and offered everywhere."""

import csv

import pytest
from pydantic import ValidationError

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result.files import trials_csv
from autotune.result.html import environment
from autotune.search.failures import RuledOut
from autotune.space import Space
from tests.trials import ended_trial

TWO = Configuration(strategy="mirrored", replicas_per_worker=2, reduction="one_device")


def test_a_value_is_checked_and_kept() -> None:
    changed = Configuration().but(cache="memory")
    assert changed["cache"] == "memory"
    assert changed.but(cache="off") == Configuration()
    assert Configuration.model_validate_json(changed.model_dump_json()) == changed
    with pytest.raises(ValidationError, match="steps_per_execution"):
        changed.but(steps_per_execution=0)


def test_a_placement_has_no_effect_on_one_device() -> None:
    assert TWO.canonical() == TWO
    assert TWO.on_one_device() == Configuration()
    assert Configuration(reduction="one_device").canonical() == Configuration()


@pytest.mark.parametrize(
    ("change", "larger"),
    [
        ({"per_replica_batch": 256}, True),
        ({"xla": True}, False),
        ({"num_parallel_calls": 8}, True),
        ({"num_parallel_calls": 2}, False),
        ({"num_parallel_calls": "auto"}, False),
        ({"arguments": (("filters", 8),)}, False),
    ],
)
def test_memory_is_compared_where_its_direction_is_known(
    change: dict[str, object], *, larger: bool
) -> None:
    """What may need less than a configuration that ran out of memory is tried."""
    configuration = Configuration().but(num_parallel_calls=4)
    failed = ended_trial(configuration=configuration, outcome=Outcome.OUT_OF_MEMORY)
    assert (configuration.but(**change) in RuledOut([failed])) is larger


def test_the_schema_names_it() -> None:
    """With its values and its sentence."""
    offered = Space.model_json_schema()["properties"]["axes"]["properties"]["precision"]
    assert offered["items"]["enum"] == ["float32", "mixed_bfloat16", "mixed_float16"]
    assert offered["description"].startswith("The Keras dtype policy; ")


def test_the_report_names_it() -> None:
    changed = TWO.but(private_threadpool_size=1, num_parallel_calls=4)
    page = str(environment().get_template("fragments.html").module.settings(changed))
    assert "<code>reduction</code> <small>All-reduce algorithm for the gradients.</small>" in page
    (row,) = csv.DictReader(trials_csv([ended_trial(configuration=changed)]).splitlines())
    assert (row["reduction"], row["num_parallel_calls"]) == ("one_device", "4")
