"""The text that defines a function which cannot be imported, for the program handed over."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from textwrap import dedent
from types import CodeType, FunctionType, ModuleType
from typing import Any

from autotune.base import Value

LAMBDA = "<lambda>"
LONGEST_LITERAL = 500
"""Characters of a plain value that is still written down."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), dict, list, tuple, set)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
File = tuple[str, ast.Module]
"""The text of a file, or of a cell of a notebook, and its tree."""


class NotFound(Exception):
    """The text of a function or class is out of reach."""


class Source(Value):
    """Program text that defines a function, as far as Python can find it."""

    text: str
    """Definitions, ready to stand at the top level of a module that begins with
    `from __future__ import annotations`; empty where none was found."""
    expression: str
    """The name, or the lambda, by which `text` lets the function be called; empty where no text
    was found."""
    missing: tuple[str, ...] = ()
    """Global names that the text needs and that cannot be written down, such as a large array."""
    roots: tuple[tuple[str, str], ...] = ()
    """Imported modules that are not installed, each with the folder that must be on the path,
    relative to the working folder."""


def source_of(function: Callable[..., Any]) -> Source:
    """Return the text of a function and of what it needs from its module.

    Never raises: a function without findable text gives an empty source that misses itself.
    """
    collector = _Collector()
    try:
        expression = collector.add(function)
        source = Source(
            text=collector.text(),
            expression=expression,
            missing=tuple(collector.missing),
            roots=tuple(sorted(collector.roots.items())),
        )
        compile(f"{source.text}\n({expression})\n", "<source>", "exec")
    except Exception:  # noqa: BLE001 - source text can be odd in more ways than can be listed
        name = getattr(function, "__name__", None) or repr(function)
        return Source(text="", expression="", missing=(str(name),))
    return source


@dataclass
class _Collector:
    """Gathers what a function needs, each thing once, in an order in which it can be executed."""

    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Import statements by the name that they bind."""
    constants: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    roots: dict[str, str] = field(default_factory=dict)
    """The folders that imports need on the path, by the top-level module."""

    def text(self) -> str:
        statements = sorted({each for several in self.imports.values() for each in several})
        constants = [f"{name} = {text}" for name, text in self.constants.items()]
        blocks = ["\n".join(statements), "\n".join(constants), *self.definitions.values()]
        return "\n\n\n".join(block for block in blocks if block)

    def add(self, thing: Any, beside: File | None = None) -> str:
        """Add a function or class and all that it needs; return how it is called."""
        thing = inspect.unwrap(thing)
        file, called, text = _place_of(thing, beside)
        needed, at_once, annotations = _names_in(text)
        outer = _surroundings(thing)
        self.definitions.setdefault(called, "")  # so that recursion does not come back here
        for name in sorted(needed):
            if name in outer:
                self._add_value(file, name, outer[name])
            elif not hasattr(builtins, name) and name not in self.missing:
                self.missing.append(name)
        for name in sorted(annotations):
            self._add_import(file, name, outer.get(name))
        del self.definitions[called]
        if at_once & {*self.missing}:
            raise NotFound(called)
        if called == LAMBDA:
            return text
        self.definitions[called] = text
        return called

    def _add_value(self, file: File, name: str, value: Any) -> None:
        known = {*self.imports, *self.constants, *self.definitions, *self.missing}
        if name in known or self._add_import(file, name, value):
            return
        if _is_plain(value):
            text = repr(value)
            self.constants[name] = text if '"' in text else text.replace("'", '"')
            return
        try:
            expression = self.add(value, file)
        except (NotFound, ValueError):
            self.missing.append(name)
            return
        if expression != name:
            self.definitions[name] = f"{name} = {expression}"

    def _add_import(self, file: File, name: str, value: Any) -> bool:
        if value is None:
            return False
        statements = _imports_in(file[1], name, value) or _import_for(name, value)
        if statements:
            self.imports[name] = statements
        for module in {each.split()[1].partition(".")[0] for each in statements}:
            if (root := root_of(module)) is not None:
                self.roots[module] = root
        return bool(statements)


def _surroundings(thing: Any) -> dict[str, Any]:
    """Return what the free names in a function or class stand for."""
    if isinstance(thing, FunctionType):
        names = dict(thing.__globals__)
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
        for name, cell in cells:
            with suppress(ValueError):  # not assigned yet
                names[name] = cell.cell_contents
        return names
    names = dict(vars(sys.modules[thing.__module__]))
    for each in vars(thing).values():
        if isinstance(each, FunctionType):
            names |= _surroundings(each)
    return names


def _imports_in(tree: ast.Module, name: str, value: Any) -> tuple[str, ...]:
    """Return the import statements of a file that bind a name to this very value."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = {each.asname or each.name.partition(".")[0]: each for each in node.names}
            each = named.get(name)
            if each and sys.modules.get(each.name if each.asname else name) is value:
                found[ast.unparse(ast.Import([each]))] = None
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            each = {each.asname or each.name: each for each in node.names}.get(name)
            if each and _member(node.module, each.name) is value:
                found[ast.unparse(ast.ImportFrom(node.module, [each], 0))] = None
    return tuple(found)


def _import_for(name: str, value: Any) -> tuple[str, ...]:
    """Return an import statement for what is known to be importable, or nothing."""
    if isinstance(value, ModuleType):
        known = sys.modules.get(value.__name__) is value and value.__name__ != "__main__"
        return (f"import {_renamed(value.__name__, name)}",) if known else ()
    original = getattr(value, "__name__", None)
    parts = (getattr(value, "__module__", None) or "__main__").split(".")
    if original is None or parts[0] in ("__main__", "builtins"):
        return ()
    # The outermost package that offers it by its name, because there it is public.
    packages = accumulate(parts, "{}.{}".format)
    home = next((each for each in packages if _member(each, original) is value), None)
    return (f"from {home} import {_renamed(original, name)}",) if home else ()


def _member(module: str, name: str) -> Any:
    found = getattr(sys.modules.get(module), name, None)
    return sys.modules.get(f"{module}.{name}") if found is None else found


def _renamed(original: str, name: str) -> str:
    return name if original == name else f"{original} as {name}"


def root_of(module: str) -> str | None:
    """Return the folder from which a loaded module was imported; None for an installed one."""
    top = module.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None or top in sys.stdlib_module_names:
        return None
    path = Path(file)
    if {"site-packages", "dist-packages"} & {*path.parts}:
        return None
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    return os.path.relpath(folder.resolve())


def _is_plain(value: Any) -> bool:
    if type(value) not in _PLAIN or len(text := repr(value)) > LONGEST_LITERAL:
        return False
    try:
        return bool(ast.literal_eval(text) == value)
    except (ValueError, SyntaxError):  # such as infinity
        return False


def _place_of(thing: Any, beside: File | None) -> tuple[File, str, str]:
    """Return the file of a function or class, its name, and its text without the indentation."""
    anchor, is_class = _anchor(thing), isinstance(thing, type)
    try:
        whole = "".join(inspect.findsource(anchor)[0])
        file: File | None = (whole, ast.parse(whole))
    except (OSError, TypeError, SyntaxError):
        file = beside if is_class else None
    if file is None:
        raise NotFound(repr(thing))
    text, tree = file
    found = _classes(tree, thing) if is_class else _functions(tree, anchor.__code__)
    if len(found) != 1:
        raise NotFound(repr(thing))
    node = found[0]
    if isinstance(node, ast.Lambda):
        return file, LAMBDA, ast.get_source_segment(text, node) or ""
    own = dedent("\n".join(text.splitlines()[first_line(node) - 1 : node.end_lineno]))
    try:
        ast.parse(own)
    except SyntaxError:  # a text in it reaches further to the left
        own = ast.unparse(node)
    return file, node.name, own


def _anchor(thing: Any) -> Any:
    """Return what `inspect` can find: for a class, one of its methods.

    Before Python 3.13 a class of the main program's or a notebook's could not be found itself.
    """
    if isinstance(thing, FunctionType):
        return thing
    if not isinstance(thing, type):
        raise NotFound(repr(thing))
    found = (inspect.unwrap(each) for each in vars(thing).values() if callable(each))
    methods = (each for each in found if isinstance(each, FunctionType))
    inside = f"{thing.__qualname__}."
    return next((each for each in methods if each.__qualname__.startswith(inside)), thing)


def _classes(tree: ast.Module, thing: type) -> list[_Definition]:
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return [node for node in classes if node.name == thing.__name__]


def _functions(tree: ast.Module, code: CodeType) -> list[_Definition]:
    found: list[_Definition] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            name, line = LAMBDA, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, line = node.name, first_line(node)
        else:
            continue
        if (name, line) == (code.co_name, code.co_firstlineno):
            found.append(node)
    if len(found) < 2:
        return found
    # Lambdas of one line are told apart by the places of what they do.
    bodies = [(each, each.body) for each in found if isinstance(each, ast.Lambda)]
    places = {*code.co_positions()}
    return [
        each
        for each, it in bodies
        if (it.lineno, it.end_lineno, it.col_offset, it.end_col_offset) in places
    ]


def first_line(node: ast.stmt) -> int:
    """Return the line in which a statement begins, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _names_in(text: str) -> tuple[set[str], set[str], set[str]]:
    """Return the names that a definition or a lambda takes from its surroundings.

    First all but those that stand in annotations alone; then those of them that are looked up as
    soon as the text is executed: in decorators, defaults, base classes and class bodies; then those
    in annotations.
    """
    from autotune.code import names  # noqa: PLC0415 - for functions without a module

    tree = names.Names(ast.parse(f"({text})" if text.lstrip().startswith("lambda") else text))
    loads = (each for several in tree.loads.values() for each in several)
    free = [each for each in loads if not tree.bindings_of(each)]
    used = [
        name
        for name in free
        if not any(
            getattr(holder, each, None) is part
            for holder, part in tree.up(name)
            for each in ("annotation", "returns")
        )
    ]
    needed = {each.id for each in used}
    at_once = {each.id for each in used if tree.function_of(each) is None}
    return needed, at_once, {each.id for each in free} - needed
