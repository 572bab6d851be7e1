"""Overlap is told from duplicates, and never claimed without proof."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from autotune.checks.certificate import Finding
from autotune.checks.examples import check_examples, excess, needs_whole
from autotune.engine.observation import Reader, Whole

Names = st.text("abcdefgh", min_size=1, max_size=2)


def reader(*examples: str) -> Reader:
    return Reader(sizes=(4,), elements=("x",), examples=Counter(examples))


def whole(*examples: str, complete: bool = True) -> Whole:
    return Whole(examples=Counter(examples), complete=complete)


def test_nothing_in_common_is_disjoint() -> None:
    """Replicas without a common example pass, and no pass over the dataset is asked for."""
    readers = [reader(*"abc"), reader(*"def")]
    check = check_examples(readers, None, repeatable=True)
    assert check.finding is Finding.PASSED
    assert "6 examples" in check.sentence
    assert not needs_whole(readers, repeatable=True)


def test_the_same_examples_are_overlap() -> None:
    """Where each example stands once, who reads them together reads too much."""
    readers = [reader(*"abcd"), reader(*"abcd")]
    check = check_examples(readers, whole(*"abcdefgh"), repeatable=True, who="workers")
    assert check.finding is Finding.FAILED
    assert check.sentence == "Its workers read the same 4 of 8 examples."


def test_duplicates_are_no_overlap() -> None:
    """An example that stands in the dataset twice may be read by two replicas."""
    readers = [reader(*"abc"), reader(*"abd")]
    check = check_examples(readers, whole(*"aabbcd"), repeatable=True)
    assert check.finding is Finding.PASSED


def test_a_small_share_that_comes_round_is_no_overlap() -> None:
    """Who reads its own examples again takes nothing from others."""
    readers = [reader(*"abab"), reader(*"cdef")]
    assert check_examples(readers, whole(*"abcdefgh"), repeatable=True).finding is Finding.PASSED


def test_more_than_an_epoch_decides_nothing() -> None:
    """Once the dataset comes round, anybody may get what another had before."""
    readers = [reader(*"abc"), reader(*"cab")]
    assert check_examples(readers, whole(*"abc"), repeatable=True).finding is Finding.UNDECIDED


def test_changing_examples_decide_nothing() -> None:
    """Augmented examples differ in every pass, so that overlap could not be seen."""
    readers = [reader(*"abc"), reader(*"def")]
    check = check_examples(readers, whole(*"uvwxyz"), repeatable=False)
    assert check.finding is Finding.UNDECIDED
    assert needs_whole(readers, repeatable=False)


def test_shuffled_examples_are_recognized() -> None:
    """A dataset that only changes its order gives the same examples to one device."""
    readers = [reader(*"abc"), reader(*"def")]
    assert check_examples(readers, whole(*"fdbeca"), repeatable=False).finding is Finding.PASSED


def test_equal_variants_are_overlap() -> None:
    """Replicas that draw the same random variants, which no other pass gives, read the same."""
    readers = [reader(*"abcd"), reader(*"abcd")]
    there = whole(*"stuvwxyz")
    assert check_examples(readers, there, repeatable=False).finding is Finding.FAILED


def test_a_dataset_too_large_to_count_is_judged_by_its_repeats() -> None:
    """Without a whole pass, all in common is overlap if replicas never repeat; less is open."""
    partial = whole("a", complete=False)
    same = [reader(*"abcd"), reader(*"abcd")]
    few = [reader(*"abcd"), reader(*"defg")]
    repeating = [reader(*"aabb"), reader(*"aabb")]
    assert check_examples(same, partial, repeatable=True).finding is Finding.FAILED
    assert check_examples(few, partial, repeatable=True).finding is Finding.UNDECIDED
    assert check_examples(repeating, partial, repeatable=True).finding is Finding.UNDECIDED


def test_what_is_no_tensor_decides_nothing() -> None:
    """Ragged examples have no fingerprint."""
    readers = [Reader(sizes=(), elements=("x",), examples=None)] * 2
    assert check_examples(readers, None, repeatable=True).finding is Finding.UNDECIDED
    assert not needs_whole(readers, repeatable=True)


@given(st.lists(Names), st.lists(st.integers(0, 2)))
def test_dealing_out_a_dataset_is_never_overlap(examples: list[str], deal: list[int]) -> None:
    """However a dataset with duplicates is dealt out, each card once, nothing is in excess."""
    hands: list[Counter[str]] = [Counter() for _ in range(3)]
    for example, hand in zip(examples, deal, strict=False):
        hands[hand][example] += 1
    assert excess(hands, Counter(examples)) == 0


@given(st.lists(Names, min_size=1, unique=True), st.integers(2, 4))
def test_giving_everything_to_everyone_is_always_overlap(examples: list[str], hands: int) -> None:
    """Distinct examples that all replicas read are in excess once for every replica but one."""
    everything = Counter(examples)
    assert excess([everything] * hands, everything) == (hands - 1) * len(examples)
