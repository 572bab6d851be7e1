"""The sentences on other batches than the user's own."""

import pytest

from autotune.config import Configuration
from autotune.learning import Learning
from autotune.result import Result
from autotune.result.batches import batch_lines, usual_rate
from tests.answers import answer_of
from tests.engines.fake import FAKE_FACTS, fake_learning

from .conftest import changed, make_trial


def weighed(learning: Learning | None, *, runs: int = 1) -> Result:
    rates = {32: 1000.0, 128: 2000.0, 512: 4000.0}
    trials = [
        make_trial(i, Configuration(per_replica_batch=batch), examples_per_second=rate)
        for i, (batch, rate) in enumerate([*rates.items()] * runs)
    ]
    facts, own = FAKE_FACTS.model_copy(update={"learning": learning}), Configuration()
    return changed(trials=tuple(trials), facts=facts, configuration=own, told={"own": own})


def test_a_batch_is_told_with_what_it_gives_and_needs() -> None:
    """The fastest batch stands first; each is compared with the own one."""
    known = fake_learning(100.0)
    first, *told = batch_lines(weighed(known))
    assert first == "Your own global batch is 32, the default of Keras."
    assert [each.split(" instead")[0] for each in told[:2]] == [
        "A global batch of 512",
        "A global batch of 128",
    ]
    needed = known.efficiency(512).under(1)
    assert told[0].startswith("A global batch of 512 instead of 32 gives 4.00 times")
    assert f"needs {needed.value:.2f} times" in told[0]
    assert "at 4 times the learning rate: " in told[0]
    assert told[2].startswith("What they need is predicted from gradients after 100 steps")


def test_two_that_differ_in_more_than_their_batch_are_not_compared() -> None:
    result = weighed(fake_learning(1e6))
    cached = Configuration(per_replica_batch=1024, cache="memory")
    more = make_trial(9, cached, examples_per_second=9000.0)
    trials, own = (*result.trials, more), Configuration()
    told = batch_lines(result.model_copy(update={"answer": answer_of(trials, own, own=own)}))
    assert not any("batch of 1024" in each for each in told)


@pytest.mark.parametrize(
    ("scale", "runs", "words"),
    [
        (1e6, 2, "rate: faster to the same loss."),
        (1e6, 1, "rate: probably faster to the same loss, but not measured again."),
        (1e-6, 1, "rate: inconclusive."),
    ],
)
def test_a_comparison_ends_in_its_outcome(scale: float, runs: int, words: str) -> None:
    assert [*batch_lines(weighed(fake_learning(scale), runs=runs))][1].endswith(words)


@pytest.mark.parametrize("learning", [None, Learning(batch=32)])
def test_nothing_is_said_of_batches_of_which_nothing_is_known(learning: Learning | None) -> None:
    assert not any("to the same loss" in each for each in batch_lines(weighed(learning)))


@pytest.mark.parametrize(
    ("optimizer", "times", "words"),
    [
        ("SGD", 4, "multiplied by about 4,"),
        ("Adam", 4, "multiplied by about 2,"),
        ("", 16, "of the optimizer is multiplied by about 4,"),
        ("SGD", 0.5, "divided by about 2"),
    ],
)
def test_the_learning_rate_follows_the_batch(optimizer: str, times: float, words: str) -> None:
    assert words in usual_rate(optimizer, times)
