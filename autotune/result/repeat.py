"""How to ask for the same search again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from autotune.result.data import ResultData
from autotune.value import Scalar
from autotune.workload import Factory


@dataclass(frozen=True, kw_only=True)
class Repeat:
    command: str
    notes: tuple[str, ...]


def repeat(result: ResultData) -> Repeat:
    return Repeat(command=shlex.join(_words(result)), notes=tuple(_notes(result)))


def _words(result: ResultData) -> Iterator[str]:
    workload = result.workload
    script = workload.script
    if script:
        yield from ("autotune", "tune", script.path)
    else:
        yield from ("autotune", "tune", _name(workload.model), _name(workload.dataset))
    if result.space is not None:
        yield from ("--space", result.space)
    yield from result.options.words()
    yield from _arguments("--model-arg", workload.model)
    yield from _arguments("--dataset-arg", workload.dataset)
    if workload.callbacks:
        yield from ("--callbacks", _name(workload.callbacks))
    if script and script.fit:
        yield from ("--fit", f"line {script.fit}")
    if script and script.arguments:
        yield from ("--", *script.arguments)


def _notes(result: ResultData) -> Iterator[str]:
    if result.space is None:
        yield "The space was created in Python; pass the same one to autotune()."
    by_value = [each.name for each in result.workload.factories.values() if not each.module]
    if by_value:
        yield (
            f"{' and '.join(by_value)} came from a notebook or a nested function: move them to a "
            "file, or call autotune() in Python."
        )
    yield (
        "With the same seed and the same timings the search tries the same configurations; "
        "timings vary, so another search may take another path to its verdict."
    )


def _name(factory: Factory) -> str:
    """Return a factory as the command line takes it."""
    if not factory.module or factory.root in (None, ".") or "." in factory.module:
        return factory.short_name
    return f"{factory.root}/{factory.module}.py:{factory.name}"


def _arguments(option: str, factory: Factory) -> Iterator[str]:
    for name, value in factory.arguments:
        yield from (option, f"{name}={_text(value)}")


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
