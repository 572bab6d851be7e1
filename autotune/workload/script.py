"""A training script or notebook of the user's, whose call of `fit` is tuned."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from autotune.calls import Others, method_calls
from autotune.errors import AutotuneError, FactoryNotFound
from autotune.notebook import code_of_notebook
from autotune.value import Value
from autotune.workload.facts import FitCall
from autotune.workload.training import FIT, check_training

NOTEBOOK = ".ipynb"
RUN = "%run"
"""Runs another file from a notebook."""
SUFFIXES = (".py", NOTEBOOK)


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
    return text.endswith(SUFFIXES)


def script_from_text(
    text: str, arguments: Sequence[str] = (), fit: str | int | None = None
) -> Script:
    """Return the script that a path names. Nothing of it is run here."""
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
    """Return the calls of a method `fit` in a script that may be Keras's, by their lines."""
    tree = parsed(path)[1]
    others = Others(tree)
    calls = (each for each in method_calls(tree, FIT) if not others.has_receiver(each))
    return tuple(FitCall(line=each.line, of=ast.unparse(each.receiver)) for each in calls)


def parsed(path: Path) -> tuple[str, ast.Module]:
    """Return the text of a script, or of a notebook's cells, as it is and as a tree."""
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
    """Return the sentence that lists calls to choose from, by their numbers."""
    numbered = [(n, each) for n, each in enumerate(calls, 1) if not lines or each.line in lines]
    listed = "; ".join(f"{n}: {each.of}, line {each.line}" for n, each in numbered)
    return f"Choose by number from: {listed or 'none'}."


def _code(path: Path) -> str:
    """Return the text of a script, or of the cells of a notebook without what is no Python."""
    text = path.read_text(encoding="utf-8")
    return code_of_notebook(text) if path.suffix == NOTEBOOK else text
