"""Programs with numbers in place of AUTOTUNE."""

from __future__ import annotations

import ast

import pytest

from autotune.autotuned_values import AutotunedValue, AutotunedValues
from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.machine import Host, Machine
from autotune.owner import Owner
from autotune.program import freeze, render
from autotune.workload import Factory, Workload, WorkloadFacts

MACHINE = Machine(hosts=(Host(cpus=8, memory=2**34, processor="x"),))
FACTORY = Factory(name="f", module="mine")
FACTS = WorkloadFacts(examples=64, dataset_takes=("num_parallel_calls",))


def choice(owner: Owner, value: int, stage: str = "ParallelMapV2") -> AutotunedValue:
    return AutotunedValue(
        stage=stage,
        parameter="parallelism",
        value=value,
        unit="batches" if owner is Owner.PREFETCH else "parallel calls",
        owner=owner,
    )


def frozen_text(*choices: AutotunedValue, configuration: Configuration | None = None) -> str:
    frozen = freeze(configuration or Configuration(), AutotunedValues(choices=choices))
    workload = Workload(model=FACTORY, dataset=FACTORY)
    text = render(frozen.configuration, workload, FACTS, MACHINE, frozen=frozen).train
    ast.parse(text)
    return text


def test_the_numbers_stand_in_the_program() -> None:
    """Each axis has its number, and a comment that tells what it was."""
    text = frozen_text(choice(Owner.PREFETCH, 3, "Prefetch"), choice(Owner.NUM_PARALLEL_CALLS, 4))
    assert (
        "    # Was tf.data.AUTOTUNE, which chose 4 parallel calls (ParallelMapV2).\n"
        "    dataset = dataset_fn(num_parallel_calls=4)\n"
    ) in text
    assert (
        "    # Was tf.data.AUTOTUNE, which chose 3 batches (Prefetch).\n"
        "    return dataset.prefetch(3)\n"
    ) in text
    assert "- 3 batches prefetched\n" in text
    assert "tf.data.AUTOTUNE)" not in text


def test_of_several_stages_the_largest_is_taken() -> None:
    """A parameter that serves several stages gets one number, and the comment tells all."""
    text = frozen_text(
        choice(Owner.NUM_PARALLEL_CALLS, 2),
        choice(Owner.NUM_PARALLEL_CALLS, 5, "ParallelInterleaveV4"),
    )
    assert "num_parallel_calls=5" in text
    words = " ".join(line.strip(" #") for line in text.splitlines())
    assert "2 parallel calls (ParallelMapV2) and 5 parallel calls (ParallelInterleaveV4)" in words
    assert "this is the largest" in words


def test_what_is_inside_of_the_factory_is_named() -> None:
    """The program cannot set it, and says so where it calls the factory."""
    text = frozen_text(choice(Owner.PREFETCH, 2, "Prefetch"), choice(Owner.FACTORY, 6))
    words = " ".join(line.strip(" #") for line in text.splitlines())
    assert "Still tf.data.AUTOTUNE: inside dataset_fn" in words
    assert "6 parallel calls (ParallelMapV2)" in words
    assert "num_parallel_calls=tf.data.AUTOTUNE" in text


def test_a_number_of_the_configuration_stays() -> None:
    """Only what was left to AUTOTUNE is replaced."""
    text = frozen_text(
        choice(Owner.PREFETCH, 3, "Prefetch"), configuration=Configuration(prefetch=7)
    )
    assert "prefetch(7)" in text
    assert "Was tf.data.AUTOTUNE" not in text


def test_long_comments_keep_to_the_width() -> None:
    """However many stages there are."""
    many = [choice(Owner.FACTORY, number) for number in range(1, 20)]
    assert max(map(len, frozen_text(*many).splitlines())) <= 100


@pytest.mark.parametrize(
    ("automatic", "said"),
    [(None, "were not read"), (AutotunedValues(why_not="It crashed."), "It crashed.")],
)
def test_without_numbers_there_is_nothing_to_freeze(
    automatic: AutotunedValues | None, said: str
) -> None:
    """The error says why there are none, and what to do."""
    with pytest.raises(ConfigurationError, match=said) as caught:
        freeze(Configuration(), automatic)
    assert "--budget" in caught.value.next_step
