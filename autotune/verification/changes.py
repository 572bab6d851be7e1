"""What differs from the search that saved a recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autotune.value import Value
from autotune.verification.case import Case
from autotune.version import VERSION

_HARDWARE: Mapping[str, str] = {
    "cpus": "CPU cores",
    "memory": "memory",
    "processor": "processor",
    "gpus": "GPUs",
    "tpus": "TPU cores",
}
_SOFTWARE: Mapping[str, str] = {"python": "Python", "tensorflow": "TensorFlow", "keras": "Keras"}
_WORKLOAD: Mapping[str, str] = {
    "examples": "examples",
    "example_bytes": "bytes per example",
    "element": "element spec",
    "weights": "model weights",
    "optimizer": "optimizer",
    "loss": "loss",
}


def changes(case: Case) -> tuple[str, ...]:
    """Return what differs between the saved machine, software and workload and today's.

    A sentence for each of the three; none where all is as it was.
    """
    saved, machine = case.saved, case.machine
    software = [*_differing(saved.machine, machine, _SOFTWARE)]
    if saved.autotune != VERSION:
        software.append(_change("autotune", saved.autotune, VERSION))
    found = {
        "Measured on another machine": [*_differing(saved.machine, machine, _HARDWARE)],
        "Measured with other software versions": software,
        "The workload has changed": [*_differing(saved.facts, case.facts, _WORKLOAD)],
    }
    return tuple(f"{lead}: {'; '.join(parts)}." for lead, parts in found.items() if parts)


def _differing(before: Value, now: Value, names: Mapping[str, str]) -> Iterator[str]:
    for field, name in names.items():
        old, new = (_text(field, getattr(each, field)) for each in (before, now))
        if old != new:
            yield _change(name, old, new)


def _change(name: str, before: str, now: str) -> str:
    return f"{name} {before} then, {now} now"


def _text(field: str, value: object) -> str:
    if field == "memory" and isinstance(value, int):
        # In the digits that are shown: a kernel keeps a few bytes more or less for itself.
        return f"{value / 2**30:.3g} GiB"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value) or "unknown"
