"""Reads errors and wait statuses of processes as reasons."""

import re
import signal
from collections.abc import Mapping
from typing import Any

from autotune.reason import Cause, Exited, KernelKilled, Killed, KnownError, Raised, Reason

_LONGEST = 300
"""Characters of a foreign message that are kept."""

_KNOWN: Mapping[str, Cause] = {
    r"Could not apply FILE based sharding|the dataset only has \d+ file": Cause.TOO_FEW_FILES,
    r"Collectives are not yet implemented for CPU devices when compiling with XLA": (
        Cause.XLA_COLLECTIVES
    ),
    r"known_issues#tfvariable_on_a_different_device|resource .* located in device .* from device": (
        Cause.XLA_VARIABLES
    ),
    r"Could not start gRPC server": Cause.PORT_TAKEN,
    r"Please provide a TPU Name": Cause.NO_TPU,
    r"`merge_call` called while defining a new graph": Cause.UPDATE_IN_CONDITION,
    r"is not divisible by `num_replicas_in_sync`": Cause.INDIVISIBLE_BATCH,
    r"Cannot batch tensors with different shapes|MaybeMoveContiguousSlices cannot perform copy": (
        Cause.UNEQUAL_EXAMPLES
    ),
    r"Collective has timed out during execution|stopped sending heartbeats": Cause.WORKER_SILENT,
}
_CONSEQUENCES = re.compile(
    r"Collective ops is aborted|Socket closed|Connection (refused|reset)|UnavailableError"
    r"|failed to connect to all addresses|stopped sending heartbeats|Heartbeat"
    r"|Cancelled|CancelledError|AbortedError|Shutdown barrier|recv'd status"
    r"|RecvFromRemoteAsync is cancelled"
)
_MEMORY = re.compile(
    r"^MemoryError|^ResourceExhaustedError|OOM when allocating|_ArrayMemoryError"
    r"|[Cc]annot allocate memory|[Ff]ailed to allocate memory|CUDA_ERROR_OUT_OF_MEMORY"
    r"|CU(DNN|BLAS)_STATUS_ALLOC_FAILED|Out of memory while trying to allocate"
    r"|Dst tensor is not initialized|Cuda failure.*out of memory|std::bad_alloc"
)
_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_NOISE = re.compile(r"\x1b\[[0-9;]*m| with name 'None'")
"""Colours, and how Keras names an input without a name."""


class WorkersLost(Exception):
    """All processes of a group are gone or out of reach."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.kind)
        self.reason = reason


def explain(error: Mapping[str, Any], process: str = "") -> KnownError | Raised:
    text = _text(error)
    for pattern, cause in _KNOWN.items():
        if re.search(pattern, text):
            return KnownError(process=process, cause=cause)
    return Raised(
        process=process,
        error=error["kind"],
        # AutoGraph puts the class before the message of an error that it passes on.
        message=_gist(error["message"]).removeprefix(f"{error['kind']}: "),
        where=error.get("where") or "",
    )


def is_memory(error: Mapping[str, Any]) -> bool:
    """Whether an error says that memory ran out; TensorFlow calls a full disk by the same name."""
    return bool(_MEMORY.search(_text(error))) and not is_of_the_disk(error)


def is_of_the_disk(error: Mapping[str, Any]) -> bool:
    return bool(_DISK.search(_text(error)))


def is_consequence(error: Mapping[str, Any]) -> bool:
    """Whether an error only tells that another worker has gone."""
    return bool(_CONSEQUENCES.search(_text(error)))


def exit_of(status: int, *, for_memory: bool = False) -> Killed | Exited | KernelKilled:
    """Return how a process ended, perhaps by the kernel for want of memory."""
    code = status & 0x7F
    if code == signal.SIGKILL and for_memory:
        return KernelKilled()
    return Killed(signal=code) if code else Exited(code=status >> 8)


def _text(error: Mapping[str, Any]) -> str:
    return f"{error['kind']}: {error['message']}"


def _gist(message: str) -> str:
    """Return the line of a message that says what is wrong."""
    lines = [line.strip() for line in _NOISE.sub("", message).splitlines() if line.strip()]
    first = lines[0] if lines else "(no message)"
    if first.startswith("in user code"):
        first = lines[-1]  # AutoGraph puts the frames first and the error last.
    elif first.startswith("Exception encountered when calling") and len(lines) > 1:
        first = lines[1]
    return first[:_LONGEST]
