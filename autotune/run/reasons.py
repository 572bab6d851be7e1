"""Why a trial failed, in words: what went wrong and what to do about it."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from typing import Any

_LONGEST = 300
"""Characters of a foreign message inside a sentence of ours."""

_KNOWN: Mapping[str, str] = {
    r"No OpKernel was registered to support Op 'Nccl": (
        "NCCL needs GPUs and this trial has none: use another reduction."
    ),
    r"Could not apply FILE based sharding|the dataset only has \d+ file": (
        "The input has fewer files than workers, so it cannot be sharded by file: use shard "
        "policy data, or split the input into more files."
    ),
    r"[Uu]nshardable source dataset": (
        "The input does not come from files, so it cannot be sharded by file: use shard policy "
        "data, or declare input_context and shard in dataset_fn."
    ),
    r"Collectives are not yet implemented for CPU devices when compiling with XLA": (
        "XLA cannot compile collectives between CPU workers: turn xla off."
    ),
    r"known_issues#tfvariable_on_a_different_device|resource .* located in device .* from device": (
        "XLA cannot compile a step with variables on several CPU devices: turn xla off."
    ),
    r"convert a value \(PerReplica": (
        "Model.fit does not support several workers in this version of Keras: use a custom "
        "training loop."
    ),
    r"You must feed a value for placeholder tensor 'while/body": (
        "Model.fit cannot run several steps per execution with this reduction: set "
        "steps_per_execution to 1 or use another reduction."
    ),
    r"pass this dataset to ClusterCoordinator.create_per_worker_dataset": (
        "Model.fit does not support parameter servers in this version of Keras: use a "
        "ClusterCoordinator."
    ),
    r"Could not start gRPC server": (
        "Another program took the port chosen for a worker: run the trial again."
    ),
    r"Please provide a TPU Name": ("No TPU found: use another strategy, or set TPU_NAME."),
    r"is not divisible by `num_replicas_in_sync`": (
        "The global batch size is not a multiple of the number of replicas: choose a multiple."
    ),
    r"Collective has timed out during execution|stopped sending heartbeats": (
        "A worker stopped responding to the others: check whether its machine is overloaded."
    ),
}
_CONSEQUENCES = re.compile(
    r"Collective ops is aborted|Socket closed|Connection (refused|reset)|UnavailableError"
    r"|failed to connect to all addresses|stopped sending heartbeats|Heartbeat"
    r"|Cancelled|CancelledError|AbortedError|Shutdown barrier|recv'd status"
)
_MEMORY = re.compile(
    r"^MemoryError|^ResourceExhaustedError|OOM when allocating|_ArrayMemoryError"
    r"|[Cc]annot allocate memory|CUDA_ERROR_OUT_OF_MEMORY|std::bad_alloc"
)
_PORT = re.compile(r"Could not start gRPC server")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def explain(error: Mapping[str, Any]) -> str:
    """Return one sentence for an error that a process reported."""
    text = _text(error)
    for pattern, sentence in _KNOWN.items():
        if re.search(pattern, text):
            return sentence
    where = f" ({error['where']})" if error.get("where") else ""
    return f"{error['kind']}: {_gist(error['message'])}{where}"


def is_memory(error: Mapping[str, Any]) -> bool:
    """Whether an error says that memory ran out."""
    return bool(_MEMORY.search(_text(error)))


def is_consequence(error: Mapping[str, Any]) -> bool:
    """Whether an error only tells that another worker has gone."""
    return bool(_CONSEQUENCES.search(_text(error)))


def is_taken_port(reason: str) -> bool:
    """Whether a trial failed for a port, so that it deserves another one."""
    return reason.endswith(_KNOWN[_PORT.pattern])


def death(status: int) -> str:
    """Return the predicate of a sentence on how a process ended, from its wait status."""
    if (code := _signal(status)) is None:
        return f"exited with code {status >> 8} without a result"
    try:
        return f"was killed by {signal.Signals(code).name}"
    except ValueError:
        return f"was killed by signal {code}"


def is_kill(status: int) -> bool:
    """Whether a process was killed in the way in which the kernel frees memory."""
    return _signal(status) == signal.SIGKILL


def _signal(status: int) -> int | None:
    return status & 0x7F or None


def _text(error: Mapping[str, Any]) -> str:
    return f"{error['kind']}: {error['message']}"


def _gist(message: str) -> str:
    """Return the line of a message that says what is wrong."""
    lines = [line.strip() for line in _ANSI.sub("", message).splitlines() if line.strip()]
    if not lines:
        return "(no message)"
    if lines[0].startswith("in user code"):
        # AutoGraph puts the frames first and the error last.
        return lines[-1][:_LONGEST]
    if lines[0].startswith("Exception encountered when calling") and len(lines) > 1:
        return lines[1][:_LONGEST]
    return lines[0][:_LONGEST]
