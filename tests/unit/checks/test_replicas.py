"""Overlap is told from duplicates and never claimed without proof; unlike replicas are found."""

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from autotune.checks import replicas
from autotune.checks.certificate import Finding
from autotune.engine.tasks import Numbers, RankObservation, Reader, Whole

from .conftest import rank, variable

PASSED, FAILED, UNDECIDED = Finding.PASSED, Finding.FAILED, Finding.UNDECIDED
END = (2.0, 3.0)
FAR = (2.5, 1.0)
Names = st.text("abcdefgh", min_size=1, max_size=2)


def readers(*read: str) -> list[Reader]:
    return [Reader(sizes=(4,), elements=("x",), examples=Counter(each)) for each in read]


def whole(examples: str, *, complete: bool = True) -> Whole:
    return Whole(examples=Counter(examples), complete=complete)


@pytest.mark.parametrize(
    ("read", "there", "finding"),
    [
        pytest.param(("abc", "def"), None, PASSED, id="nothing in common"),
        pytest.param(("abcd", "abcd"), whole("abcdefgh"), FAILED, id="the same"),
        pytest.param(("abc", "abd"), whole("aabbcd"), PASSED, id="duplicates"),
        pytest.param(("abab", "cdef"), whole("abcdefgh"), PASSED, id="its own again"),
        pytest.param(("abc", "cab"), whole("abc"), UNDECIDED, id="more than an epoch"),
        pytest.param(("abcd", "abcd"), whole("a", complete=False), FAILED, id="all, uncounted"),
        pytest.param(("abcd", "defg"), whole("a", complete=False), UNDECIDED, id="some, uncounted"),
        pytest.param(("aabb", "aabb"), whole("a", complete=False), UNDECIDED, id="repeats"),
    ],
)
def test_overlap_is_told_from_duplicates(
    read: tuple[str, str], there: Whole | None, finding: Finding
) -> None:
    """By what one device reads in a pass; without a whole pass, by what replicas repeat."""
    assert replicas.check_examples(readers(*read), there, repeatable=True).finding is finding


@pytest.mark.parametrize(
    ("read", "there", "finding"),
    [
        pytest.param(("abc", "def"), "uvwxyz", UNDECIDED, id="augmented"),
        pytest.param(("abc", "def"), "fdbeca", PASSED, id="shuffled"),
        pytest.param(("abcd", "abcd"), "stuvwxyz", FAILED, id="the same random variants"),
    ],
)
def test_a_dataset_that_changes_from_pass_to_pass(
    read: tuple[str, str], there: str, finding: Finding
) -> None:
    """Overlap of augmented examples cannot be seen, unless replicas draw the same variants."""
    check = replicas.check_examples(readers(*read), whole(there), repeatable=False)
    assert check.finding is finding
    assert replicas.needs_whole(readers(*read), repeatable=False)


def test_the_sentence_counts_who_read_what() -> None:
    """And no pass over the dataset is asked for where nothing is in common."""
    check = replicas.check_examples(
        readers("abcd", "abcd"), whole("abcdefgh"), repeatable=True, units="workers"
    )
    assert check.sentence == "Its workers read the same 4 of 8 examples."
    assert not replicas.needs_whole(readers("abc", "def"), repeatable=True)


def test_what_is_no_tensor_decides_nothing() -> None:
    """Ragged examples have no fingerprint, and their batches are not measured."""
    ragged = [Reader(sizes=(), elements=("x",), examples=None)] * 2
    assert replicas.check_examples(ragged, None, repeatable=True).finding is UNDECIDED
    assert not replicas.needs_whole(ragged, repeatable=True)
    assert replicas.check_sizes(ragged, 4).finding is UNDECIDED


@given(st.lists(Names), st.lists(st.integers(0, 2)))
def test_dealing_out_a_dataset_is_never_overlap(examples: list[str], deal: list[int]) -> None:
    """However a dataset with duplicates is dealt out, each card once, nothing is in excess."""
    hands: list[Counter[str]] = [Counter() for _ in range(3)]
    for example, hand in zip(examples, deal, strict=False):
        hands[hand][example] += 1
    assert replicas.excess(hands, Counter(examples)) == 0


@given(st.lists(Names, min_size=1, unique=True), st.integers(2, 4))
def test_giving_everything_to_everyone_is_always_overlap(examples: list[str], hands: int) -> None:
    """Distinct examples that all replicas read are in excess once for every replica but one."""
    everything = Counter(examples)
    assert replicas.excess([everything] * hands, everything) == (hands - 1) * len(examples)


def batches(*sizes: int, elements: tuple[str, ...] = ("float32 [8]",)) -> Reader:
    return Reader(sizes=sizes, elements=elements, examples={})


@pytest.mark.parametrize(("size", "words"), [(3, "a batch of 3"), (0, "an empty batch")])
def test_another_size_on_one_replica_fails(size: int, words: str) -> None:
    check = replicas.check_sizes([batches(4, 4), batches(4, size)], 4)
    assert check.finding is FAILED
    assert check.sentence.startswith(f"Replica 1 got {words} in step 2")
    assert replicas.check_sizes([batches(4, 4), batches(4, 4)], 4).finding is PASSED


def test_structure_type_and_shape_have_to_be_the_same() -> None:
    """Only lengths that change from batch to batch may differ between replicas."""
    check = replicas.check_elements([batches(4), batches(4, elements=("float64 [8]",))])
    assert check.finding is FAILED
    assert "float64 [8]" in check.sentence
    changing = batches(4, 4, elements=("float32 [7]", "float32 [9]"))
    assert replicas.check_elements([changing, batches(4, 4)]).finding is PASSED


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param([rank(END, END)], id="of one process"),
        pytest.param([rank(END), rank(END)], id="of several"),
        pytest.param([rank(END), rank((2.0, 3.0 + 2**-22))], id="up to a rounding"),
        pytest.param([rank(END, FAR, apart=True)], id="added up when it is read"),
    ],
)
def test_equal_replicas_pass(ranks: list[RankObservation]) -> None:
    """They agree in every number, but for what other machines round or differs on purpose."""
    assert replicas.check_start(ranks).finding is PASSED
    assert replicas.check_equal(ranks, 8).finding is PASSED


@pytest.mark.parametrize("ranks", [[rank(END, FAR)], [rank(END), rank(FAR)]])
def test_replicas_that_went_other_ways_fail(ranks: list[RankObservation]) -> None:
    """As do those that begin elsewhere."""
    check = replicas.check_equal(ranks, 8)
    assert check.finding is FAILED
    assert "kernel differs by" in check.sentence
    begun = [rank(END, END, starts=((1.0, 2.0), (1.0, 2.1)))]
    assert replicas.check_start(begun).finding is FAILED


@pytest.mark.parametrize(("other", "finding"), [((7.0, 8.0), FAILED), ((9.0, 8.0), PASSED)])
def test_equal_random_numbers_fail(other: Numbers, finding: Finding) -> None:
    """Generators in the same state draw the same numbers; a model without any passes."""
    ends = ((7.0, 8.0), other)
    drawn = [rank(*ends, starts=ends, kind="random", epsilon=0.0)]
    assert replicas.check_random(drawn).finding is finding
    assert replicas.check_start(drawn).finding is PASSED
    assert replicas.check_random([rank(END, END)]).finding is PASSED


def test_a_variable_on_one_device_fails() -> None:
    here = rank(END, END)
    lone = variable("outside", copies=1, mirrored=False)
    check = replicas.check_places([here.model_copy(update={"variables": (*here.variables, lone)})])
    assert check.finding is FAILED
    assert check.sentence.startswith("outside is on one device only")
    assert replicas.check_places([rank(END, copies=1, mirrored=False)]).finding is PASSED
