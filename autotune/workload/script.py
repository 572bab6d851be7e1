"""A training script or notebook of the user's, whose call of `fit` is tuned."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from autotune.calls import Others, method_calls
from autotune.errors import AutotuneError, FactoryNotFound
from autotune.notebook import code_of_notebook
from autotune.value import Value
from autotune.workload.training import FIT, check_training

NOTEBOOK = ".ipynb"
RUN = "%run"
"""Runs another file from a notebook."""
SUFFIXES = (".py", NOTEBOOK)


class FitCall(Value):
    """A place in a script that calls something's `fit`."""

    line: int
    of: str
    """What it is called on, as the script writes it: `model`."""


class FitData(StrEnum):
    """What the data is that a script gives to its `fit`."""

    DATASET = "dataset"
    """A `tf.data.Dataset`."""
    PY_DATASET = "PyDataset"
    GENERATOR = "generator"
    ARRAYS = "arrays"


class OwnStrategy(Value):
    """A strategy that a script makes, or asks TensorFlow for, before it trains."""

    title: str = ""
    """Its class; empty where it only asks for the current one."""
    line: int | None = None
    replicas: int = 1
    """As many as it would have on this machine."""
    workers: int = 1


class FitFacts(Value):
    """What a script's call of `fit` has shown beside model and data."""

    line: int | None = None
    """Of the script; None where nothing of it is under way, such as a handler at exit."""
    data: FitData | None = None
    """None where nobody has looked."""
    epochs: int | None = None
    """As many as it makes; None where nobody has looked."""
    steps: int | None = None
    """Of an epoch, if it asks for so many."""
    partial: bool = False
    """Whether its last batch may hold fewer examples, and how many is not known."""
    callbacks: bool = False
    """Whether it has any."""
    left_out: tuple[str, ...] = ()
    """Classes of callbacks that trials leave out."""
    only_batch: int | None = None
    """The size of its batches, where no others can be made of them or trained with."""
    others: tuple[FitCall, ...] = ()
    """Every other call of a `fit` in the script."""
    own_strategy: OwnStrategy | None = None
    """The first one that it makes; None where it makes none and asks for none."""
    alone: int | None = None
    """The first line with another `fit`, which Keras does in one process only; None where there is
    none."""
    network: int | None = None
    """The first line that connects to another machine; None where there is none."""
    eager: int | None = None
    """The line that asks for eager execution; None where none does."""
    backend: str | None = None
    """What Keras is to compute with, if the script or the environment says it."""


class Script(Value):
    """A script, what stands behind it on its command line, and which `fit` is meant."""

    path: str
    """The file, relative to the working folder."""
    notebook: bool = False
    """Whether its code stands in cells."""
    arguments: tuple[str, ...] = ()
    fit: int | None = None
    """The line that calls `fit`; None stands for the first call that the script makes."""

    @property
    def file(self) -> str:
        """The file's name."""
        return Path(self.path).name

    @property
    def identity(self) -> str:
        """Equal for the same code with the same arguments, in whichever folder it lies."""
        path = Path(self.path)
        try:
            code = code_digest(_code(path))
            fit = self.fit and sum(each.line <= self.fit for each in fit_calls(path))
        except (OSError, ValueError, AutotuneError):
            code, fit = "", self.fit
        return f"{self.file} {self.arguments!r} {fit} {code}"


def code_digest(text: str) -> str:
    """Return what is equal for texts that differ only in comments and layout, if in anything."""
    with suppress(SyntaxError, ValueError, RecursionError):  # Then its letters count.
        text = ast.dump(ast.parse(text))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_script(text: str) -> bool:
    """Whether a text names a script rather than a factory."""
    return text.endswith(SUFFIXES)


def script_from_text(
    text: str, arguments: Sequence[str] = (), fit: str | int | None = None
) -> Script:
    """Return the script that a path names. Nothing of it is run here.

    Args:
        text: Its path.
        arguments: Of its command line.
        fit: Which of its calls of `fit` is meant: a number from 1 on, what it is called on, or
            `line 40`.

    Raises:
        FactoryNotFound: There is no such file, or no such call in it.
        ScriptFailed: It surely comes to no `fit` of Keras.
    """
    path = Path(text)
    if not path.is_file():
        raise FactoryNotFound(f"File {text} not found.", "Check the path.")
    if path.suffix != NOTEBOOK or RUN not in path.read_text(encoding="utf-8", errors="ignore"):
        check_training(path, *parsed(path))
    return Script(
        path=os.path.relpath(path.resolve()),
        notebook=path.suffix == NOTEBOOK,
        arguments=tuple(arguments),
        fit=None if fit is None else _chosen(path, str(fit)).line,
    )


def fit_calls(path: Path) -> tuple[FitCall, ...]:
    """Return the calls of a method `fit` in a script that may be Keras's, by their lines.

    Raises:
        FactoryNotFound: The file is no Python.
    """
    tree = parsed(path)[1]
    others = Others(tree)
    calls = (each for each in method_calls(tree, FIT) if not others.has_receiver(each))
    return tuple(FitCall(line=each.line, of=ast.unparse(each.receiver)) for each in calls)


def parsed(path: Path) -> tuple[str, ast.Module]:
    """Return the text of a script, or of a notebook's cells, as it is and as a tree.

    Raises:
        FactoryNotFound: The file is no Python.
    """
    try:
        text = _code(path)
        return text, ast.parse(text)
    except (OSError, ValueError, SyntaxError) as exc:
        raise FactoryNotFound(
            f"{path} cannot be read as Python: {exc}.", "Check that it runs by itself."
        ) from exc


def _chosen(path: Path, fit: str) -> FitCall:
    calls = fit_calls(path)
    named = [each for each in calls if each.of == fit]
    if fit.isdecimal():
        named = [*calls[int(fit) - 1 : int(fit)]] if int(fit) else []
    if fit.startswith("line "):
        named = [each for each in calls if fit == f"line {each.line}"]
    if len(named) == 1:
        return named[0]
    raise FactoryNotFound(
        f"{path.name} has {'no' if not named else 'more than one'} call of fit {fit!r}.",
        choice(calls),
    )


def choice(calls: Sequence[FitCall], lines: Collection[int] | None = None) -> str:
    """Return the sentence that lists calls to choose from, by their numbers.

    Args:
        calls: All of the script.
        lines: Of those that are listed; None lists all.
    """
    numbered = [(n, each) for n, each in enumerate(calls, 1) if not lines or each.line in lines]
    listed = "; ".join(f"{n}: {each.of}, line {each.line}" for n, each in numbered)
    return f"Choose by number from: {listed or 'none'}."


def _code(path: Path) -> str:
    """Return the text of a script, or of the cells of a notebook without what is no Python."""
    text = path.read_text(encoding="utf-8")
    return code_of_notebook(text) if path.suffix == NOTEBOOK else text
