"""A training script or notebook of the user's, whose call of `fit` is tuned.

Its text says how it trains, so that one without any `fit` is reported at once.
"""

import ast
import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from autotune.base import Value
from autotune.errors import AutotuneError, FactoryNotFound, ScriptFailed
from autotune.library.keras_notebook import code_of_notebook
from autotune.workload.facts import FitCall

NOTEBOOK = ".ipynb"
RUN = "%run"
"""Runs another file from a notebook."""
_UPDATES = ("train_on_batch", "apply_gradients", "stateless_apply", "backward")
"""Methods by which a loop of its own trains."""
_GRADIENTS = ("GradientTape", "value_and_grad")
"""What else looks like one, where nothing else trains."""
_PLAIN = frozenset(
    (
        *("keras", "tensorflow", "numpy", "pandas", "scipy", "matplotlib", "PIL", "tqdm"),
        *("torch", "jax", "flax", "optax"),
    )
)
"""Libraries that call no `fit` of Keras, beside the standard one."""
_OTHER_FRAMEWORKS = ("torch", "jax", "flax", "lightning", "pytorch_lightning", "mxnet", "paddle")
_OF_KERAS = re.compile(r"keras|tensorflow|\bTF[A-Z]", re.IGNORECASE)
_DYNAMIC = ("exec", "__import__", "import_module", "run_path", "run_module")
"""What may come to a `fit` that no text shows."""


class Script(Value):
    """A script, what stands behind it on its command line, and which `fit` is meant."""

    path: str
    """The file, relative to the working folder."""
    notebook: bool = False
    """Whether its code stands in cells."""
    arguments: tuple[str, ...] = ()
    fit: int | None = None
    """The line that calls `fit`; None stands for one of those that the run reaches."""
    number: int | None = None
    """Which of the lines that reach a `fit` of Keras is meant, from 1; None for the first."""

    @property
    def file(self) -> str:
        """The file's name."""
        return Path(self.path).name

    @property
    def identity(self) -> str:
        """Equal for the same code with the same arguments, in whichever folder it lies.

        Files of the user's own that it imports are part of the code.
        """
        path = Path(self.path)
        try:
            text, tree = _parsed(path)
            files, _ = _reached(path, tree)
            imported = sorted(code_digest(_text(each)) for each in files if each != path)
            code = " ".join([code_digest(text), *imported])
            # A comment above moves the line, but not its place among the calls.
            fit: object = self.fit and sum(each.line <= self.fit for each in _fit_calls(tree))
        except (OSError, ValueError, AutotuneError):
            code, fit = "", self.fit
        fit = fit if self.number is None else f"number {self.number}"
        return f"{self.file} {self.arguments!r} {fit} {code}"


def code_digest(text: str) -> str:
    """Return what is equal for texts that differ only in comments and layout, if in anything."""
    with suppress(SyntaxError, ValueError, RecursionError):  # Then its letters count.
        text = ast.dump(ast.parse(text))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_script(text: str) -> bool:
    return text.endswith((".py", NOTEBOOK))


def script_from_text(
    text: str, arguments: Sequence[str] = (), fit: str | int | None = None
) -> Script:
    """Return the script that a path names. Nothing of it is run here.

    Args:
        text: The path.
        arguments: Of its command line.
        fit: Which `fit` is tuned: the number of a line among those that the run reaches, `line 7`,
            or what a single line calls it on; None for the first that is reached.
    """
    path = Path(text)
    if not path.is_file():
        raise FactoryNotFound(f"File {text} not found.", "Check the path.")
    notebook = path.suffix == NOTEBOOK
    if not notebook or RUN not in path.read_text(encoding="utf-8", errors="ignore"):
        _check_training(path, *_parsed(path))
    number = int(str(fit)) if str(fit).isdecimal() else None
    return Script(
        path=os.path.relpath(path.resolve()),
        notebook=notebook,
        arguments=tuple(arguments),
        fit=None if fit is None or number else _line_of(path, str(fit)),
        number=number or None,
    )


def _line_of(path: Path, fit: str) -> int:
    calls = _fit_calls(_parsed(path)[1])
    named = [each.line for each in calls if fit in (each.of, f"line {each.line}")]
    if len(named) == 1:
        return named[0]
    listed = "; ".join(f"line {each.line} ({each.of})" for each in calls)
    raise FactoryNotFound(
        f"{path.name} has {'more than one' if named else 'no'} call of fit {fit!r}.",
        f"Choose from: {listed or 'none'}; or by its number among those that the script reaches.",
    )


def _fit_calls(tree: ast.Module) -> list[FitCall]:
    """Return the calls of a method `fit`, by the lines in which Python sees them."""
    calls = [each.func for each in ast.walk(tree) if isinstance(each, ast.Call)]
    fits = [each for each in calls if isinstance(each, ast.Attribute) and each.attr == "fit"]
    found = [FitCall(line=each.end_lineno or 0, of=ast.unparse(each.value)) for each in fits]
    return sorted(found, key=lambda each: each.line)


def _parsed(path: Path) -> tuple[str, ast.Module]:
    """Return the text of a script, or of a notebook's cells, as it is and as a tree."""
    try:
        text = path.read_text(encoding="utf-8")
        text = code_of_notebook(text) if path.suffix == NOTEBOOK else text
        return text, ast.parse(text)
    except (OSError, ValueError, SyntaxError) as exc:
        raise FactoryNotFound(
            f"{path} cannot be read as Python: {exc}.", "Check that it runs by itself."
        ) from exc


def _check_training(path: Path, text: str, tree: ast.Module) -> None:
    """Make sure that a script may come to a `fit` of Keras, as far as texts tell."""
    files, libraries = _reached(path, tree)
    texts = [text, *(_text(file) for file in files if file != path)]
    other = next((each for each in _OTHER_FRAMEWORKS if each in libraries), None)
    if other and not any(map(_OF_KERAS.search, texts)):
        raise ScriptFailed(
            f"{path.name} trains with {other}, and not with Keras.",
            "autotune distributes trainings of Keras with TensorFlow; write the model in Keras.",
        )
    if any(_may_fit(each) for each in files.values()):
        return
    certain = [(file, loop) for file, each in files.items() for loop in _own_loops(each, _UPDATES)]
    if not certain and not libraries <= sys.stdlib_module_names | _PLAIN:
        return
    seen = [(file, loop) for file, each in files.items() for loop in _own_loops(each, _GRADIENTS)]
    if certain or seen:
        file, (line, method) = (certain or seen)[0]
        raise own_loop(path, file, line, method)
    raise ScriptFailed(
        f"{path.name} calls no fit of Keras, nor does what it imports.",
        "Tune the script that trains; or two functions: autotune tune FILE.py:model_fn "
        "FILE.py:dataset_fn.",
    )


def fits_elsewhere(path: Path, tree: ast.Module) -> bool:
    """Whether a file that a script imports may call `fit` of Keras."""
    files, _ = _reached(path, tree)
    return any(_may_fit(each) for file, each in files.items() if file != path)


def own_loop(script: Path, file: Path, line: int, method: str) -> ScriptFailed:
    """Return the error of a script that trains in a line of a file by a method, without `fit`."""
    where = "" if file == script else f" of {file.name}"
    return ScriptFailed(
        f"{script.name} calls no fit of Keras: it trains by a loop of its own in line "
        f"{line}{where} ({method}).",
        "Put its model and data into two functions, and tune these: autotune tune "
        "FILE.py:model_fn FILE.py:dataset_fn.",
    )


def _own_loops(tree: ast.Module, methods: Collection[str]) -> list[tuple[int, str]]:
    """Return lines and methods of a training, but for those in a `train_step`."""
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
    steps = [
        each
        for each in functions
        if each.name == "train_step" and [it.arg for it in each.args.args[:1]] == ["self"]
    ]
    inside = {id(inner) for step in steps for inner in ast.walk(step)}
    return sorted(
        (node.end_lineno or node.lineno, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in methods and id(node) not in inside
    )


def _may_fit(tree: ast.Module) -> bool:
    """Whether there may be a call of Keras's `fit`, by whatever name."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in _DYNAMIC:
                return True
            case ast.Attribute(attr="fit") | ast.Constant(value="fit"):
                return True
            case ast.ImportFrom(names=names) if any(each.name == "fit" for each in names):
                return True
    return False


def _reached(path: Path, tree: ast.Module) -> tuple[dict[Path, ast.Module], set[str]]:
    """Return the script and all files that it imports from its folder or the working folder.

    With them, the names of all other packages that they import.
    """
    files, libraries, waiting = {path: tree}, set[str](), [path]
    while waiting:
        file = waiting.pop()
        for name in _imports(files[file]):
            found = [*_files(name, file, (path.parent, Path.cwd()))]
            new = [each for each in found if each not in files]
            for each in new:
                try:
                    files[each] = ast.parse(_text(each))
                except (ValueError, SyntaxError):  # It is reported when the script runs.
                    files[each] = ast.parse(_DYNAMIC[0])
            waiting += new
            if not found:
                libraries.add(name.partition(".")[0])
    return files, libraries


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a text imports, those of its own package with dots in front."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = "." * node.level + (f"{node.module}." if node.module else "")
            yield from (package + each.name for each in node.names)


def _files(name: str, importer: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that importing a module would read, if it is the user's own."""
    bare = name.lstrip(".")
    parts, level = bare.split("."), len(name) - len(bare)
    for root in dict.fromkeys(each.resolve() for each in roots):
        folder = importer.resolve().parents[level - 1] if level else root
        for count in range(1, len(parts) + 1):
            stem = folder.joinpath(*parts[:count])
            places = stem.with_suffix(".py"), stem / "__init__.py"
            yield from (each for each in places if each.is_file() and each != importer.resolve())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
