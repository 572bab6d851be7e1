"""Errors become sentences."""

import os

import pytest

from autotune.engine.trial_run import exit_of, explain, is_consequence, is_memory
from autotune.reason import KernelKilled, Killed, KnownError, Raised
from autotune.reason.sentences import death, reason_text

COMPILED = "Collectives are not yet implemented for CPU devices when compiling with XLA"


def error(kind: str, message: str, where: str = "") -> dict[str, str]:
    return {"kind": kind, "message": message, "where": where}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("the dataset only has 1 file(s), which is not", "fewer files"),
        (COMPILED, "turn xla off"),
        ("Trying to access resource k/65 located in device 1 from device 0", "several CPU devices"),
        ("Cond():\n`merge_call` called while defining a new graph", "apply them in every step"),
        ("Could not start gRPC server", "port"),
        ("Please provide a TPU Name to connect to.", "No TPU"),
    ],
)
def test_known_errors_have_a_sentence_and_a_next_step(message: str, words: str) -> None:
    """What TensorFlow is known to say is said in plain words, whatever the kind of its error."""
    reason = explain(error("InvalidArgumentError", message))
    assert isinstance(reason, KnownError)
    sentence = reason_text(reason)
    assert words in sentence
    assert sentence.endswith(".")
    assert ": " in sentence


@pytest.mark.parametrize(
    ("message", "gist"),
    [
        ("one\ntwo", "one"),
        ("", "(no message)"),
        ("in user code:\n\n    File x, line 2\n\n    ValueError: odd\n", "ValueError: odd"),
        ("in user code:\n\n    File x, line 2\n\n    TypeError: odd\n", "odd"),
        ("Exception encountered when calling Dense.call().\n\n\x1b[1mbad\x1b[0m\n\nArgs", "bad"),
    ],
)
def test_other_errors_are_quoted(message: str, gist: str) -> None:
    reason = explain(error("TypeError", message, "a.py line 3"))
    assert reason == Raised(error="TypeError", message=gist, where="a.py line 3")
    assert reason_text(reason) == f"TypeError: {gist} (a.py line 3)"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("MemoryError", ""),
        ("ResourceExhaustedError", "OOM when allocating tensor with shape[9]"),
        ("_ArrayMemoryError", "Unable to allocate 9. GiB"),
        ("InternalError", "Dst tensor is not initialized. [Op:_EagerConst]"),
        ("InternalError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."),
        ("InternalError", "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED"),
    ],
)
def test_want_of_memory_is_seen(kind: str, message: str) -> None:
    assert is_memory(error(kind, message))
    assert not is_memory(error("ValueError", "MemoryErrors are bad"))


@pytest.mark.parametrize(
    "message", ["/data/cache.index; No space left on device", "/home/me/x; Disk quota exceeded"]
)
def test_a_full_disk_is_no_want_of_memory(message: str) -> None:
    """TensorFlow raises the same error for both."""
    assert not is_memory(error("ResourceExhaustedError", message))
    assert message in reason_text(explain(error("ResourceExhaustedError", message)))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("UnavailableError", "Collective ops is aborted by: Socket closed"),
        ("CancelledError", "RPC cancelled"),
        ("DeadlineExceededError", "RPC: /tensorflow.CoordinationService/Heartbeat"),
        ("InternalError", "RecvFromRemoteAsync is cancelled. [Op:Identity] name: "),
    ],
)
def test_consequences_are_told_from_causes(kind: str, message: str) -> None:
    """What a worker says when another has gone is no cause."""
    assert is_consequence(error(kind, message))
    assert not is_consequence(error("ValueError", "the labels are upside down"))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (9, "was killed by SIGKILL"),
        (6 | 0x80, "was killed by SIGABRT"),
        (3 << 8, "exited with code 3 without a result"),
        (
            os.EX_IOERR << 8,
            "could not write its files: the disk is full or read-only, or the folder is gone",
        ),
        (126, "was killed by signal 126"),
    ],
)
def test_wait_statuses_in_words(status: int, words: str) -> None:
    assert death(exit_of(status)) == words


def test_a_kill_for_memory_is_the_kernels() -> None:
    """SIGKILL is, where the kernel has freed memory meanwhile; no other signal."""
    assert exit_of(9, for_memory=True) == KernelKilled()
    assert exit_of(6, for_memory=True) == Killed(signal=6)
