"""How the user's factories get into the program: by import, or with their own text."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import indent

from autotune.script.imports import Import, imports_of
from autotune.script.text import call, listing
from autotune.workload import Factory, Workload, is_dotted_name
from autotune.workload.source import Source

_OWN_NAMES = (
    *("any_worker_stops", "build", "checked", "counted_updates", "logs_of_all", "main"),
    *("make_dataset", "make_strategy", "make_train_steps", "needs_values", "of_this_worker"),
    *("of_worker", "parse_arguments", "reset_metrics", "save", "serve", "share_lost"),
    *("spread_random_streams", "steps_of_an_epoch", "train", "under_way", "warn_of_other_size"),
    *("AHEAD", "EXAMPLES", "GLOBAL_BATCH", "PER_REPLICA_BATCH", "REPLICAS"),
    *("STEPS_PER_EPOCH", "STEPS_PER_EXECUTION", "model_fn", "dataset_fn", "callbacks_fn"),
)
"""Names that the program binds itself, so that no text of the user's may."""

_OWN_IMPORTS = (
    *(Import(name) for name in ("argparse", "keras", "os", "sys", "tempfile")),
    *(Import("typing", "Any"), Import("pathlib", "Path"), Import("tensorflow", "", "tf")),
    *(Import("collections.abc", name) for name in ("Callable", "Iterator", "Sequence")),
    *(Import("collections", "deque"), Import("functools", "partial")),
)


@dataclass(kw_only=True)
class Preamble:
    """What the factories add to the top of the program; filled one factory after the other."""

    imports: set[Import] = field(default_factory=set)
    local_imports: set[Import] = field(default_factory=set)
    """Imports that work only once `roots` are on the path."""
    roots: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Names of values that the user must fill in."""
    guarded: bool = False
    """Whether any factory ends the program while its values are not filled in."""
    definitions: list[str] = field(default_factory=list)
    assignments: list[str] = field(default_factory=list)
    _meanings: dict[str, object] = field(default_factory=dict)
    """What each name stands for in the program."""

    def __post_init__(self) -> None:
        """Note the names that are taken from the start."""
        self._meanings = dict.fromkeys(_OWN_NAMES)
        self._meanings |= {each.binds: each for each in _OWN_IMPORTS}

    def add_import(self, role: str, factory: Factory) -> None:
        """Import a factory under the name of its role."""
        found = self.imports if factory.root is None else self.local_imports
        self._add_root(factory.root)
        if "." in factory.name:
            found.add(Import(factory.module))
            self.assignments.append(f"{role} = {factory.module}.{factory.name}")
        else:
            found.add(Import(factory.module, factory.name, role))

    def add_source(self, role: str, source: Source) -> None:
        """Write a factory down under the name of its role."""
        if not source.expression:
            self.definitions.append(_stub(role, source))
            return
        self.imports.add(Import("__future__", "annotations"))
        imports, definitions = _split(source.text)
        meanings: dict[str, object] = {each.binds: each for each in imports}
        meanings |= {name: text for text in definitions for name in _bound(text)}
        self.guarded |= bool(source.missing)
        if self._clash(role, source, meanings):
            self.definitions.append(_own_scope(role, source))
        else:
            self._meanings |= meanings
            self._add_parts(source, imports, definitions)
            self._assign(role, source)

    def _clash(self, role: str, source: Source, meanings: dict[str, object]) -> bool:
        """Whether a name would stand for two things in the program."""
        own = {role} if source.expression == role else set()
        return any(
            self._meanings.get(name, meaning) != meaning
            for name, meaning in (meanings | dict.fromkeys(source.missing, "...")).items()
            if name not in own
        )

    def _add_parts(
        self, source: Source, imports: Iterable[Import], definitions: Iterable[str]
    ) -> None:
        roots = dict(source.roots)
        for each in imports:
            root = roots.get(each.module.partition(".")[0])
            self._add_root(root)
            (self.imports if root is None else self.local_imports).add(each)
        self.definitions += [text for text in definitions if text not in self.definitions]
        self.missing += [name for name in source.missing if name not in self.missing]

    def _add_root(self, root: str | None) -> None:
        if root is not None and root not in self.roots:
            self.roots.append(root)

    def _assign(self, role: str, source: Source) -> None:
        text = _guarded(source)
        if text != role:
            self.assignments.append(f"{role} = {text}")


def preamble(workload: Workload) -> Preamble:
    """Return what the program needs so that each factory is a global name in it."""
    result = Preamble()
    roles = {
        "model_fn": workload.model,
        "dataset_fn": workload.dataset,
        "callbacks_fn": workload.callbacks,
    }
    for role, factory in roles.items():
        if factory is None:
            continue
        if factory.module:
            result.add_import(role, factory)
        else:
            result.add_source(role, factory.source or Source(text="", expression=""))
    return result


def _guarded(source: Source) -> str:
    """Return the factory as an expression, guarded while values are missing."""
    expression = source.expression
    if "\n" in expression:
        expression = f"(\n{indent(expression, '    ')}\n)"
    if not source.missing:
        return expression
    values = ", ".join(f'"{name}": {name}' for name in source.missing)
    return call("needs_values", [("", expression), ("", f"lambda: {{{values}}}")])


def _stub(role: str, source: Source) -> str:
    # What cannot be written down may have any name.
    what = listing([each for each in source.missing if is_dotted_name(each)]) or "its source"
    return (
        f"def {role}(*arguments: object, **options: object) -> None:\n"
        f'    """Fill in: autotune could not write down {what}."""\n'
        f"    del arguments, options\n"
        f'    raise SystemExit("Fill in {role} at the top of this program first.")'
    )


def _split(text: str) -> tuple[set[Import], list[str]]:
    """Return the imports and the texts of the definitions at the top level of a source."""
    lines = text.splitlines()
    imports: set[Import] = set()
    definitions = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(imports_of(node))
        else:
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(each.lineno for each in decorators)])
            definitions.append("\n".join(lines[first - 1 : node.end_lineno]))
    return imports, definitions


def _bound(text: str) -> set[str]:
    """Return the names that a definition binds at the top level."""
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    return names


def _own_scope(role: str, source: Source) -> str:
    """Return a definition of the factory that keeps its other names out of the program."""
    lines = []
    if source.missing:
        lines.append("# Fill in: autotune could not write these values down.")
        lines += [f"{name} = ..." for name in source.missing]
    # Parsed and written again, because indenting would change texts of several lines.
    lines += ast.unparse(ast.parse(source.text)).splitlines()
    lines.append(f"return {_guarded(source)}")
    body = indent("\n".join(lines), "    ")
    return (
        f"def scope_of_{role}():\n"
        f'    """Keep the names that {role} needs apart from those of this program."""\n'
        f"{body}\n\n\n"
        f"{role} = scope_of_{role}()"
    )
