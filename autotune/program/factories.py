"""How the user's factories get into the program: by import, or with their own text."""

import ast
import symtable
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from textwrap import indent

from autotune.program.text import Import, call, imports_in, literal, sections
from autotune.workload import Factory, bound_names, is_dotted_name
from autotune.workload.source import Source, first_line


@dataclass(kw_only=True)
class _Preamble:
    """What the factories add to the top of the program; filled one factory after the other."""

    meanings: dict[str, object] = field(default_factory=dict)
    """What each name stands for in the program."""
    imports: set[Import] = field(default_factory=set)
    local_imports: set[Import] = field(default_factory=set)
    """Imports that work only once `roots` are on the path."""
    roots: dict[str, list[str]] = field(default_factory=dict)
    """Folders that must be on the path, each with the modules in it, as paths without `.py`."""
    missing: list[str] = field(default_factory=list)
    """Names of values that the user must fill in."""
    definitions: list[str] = field(default_factory=list)
    assignments: list[str] = field(default_factory=list)

    def add_import(self, role: str, factory: Factory) -> None:
        found = self.imports if factory.root is None else self.local_imports
        self._add_root(factory.root, factory.module)
        if "." in factory.name:
            found.add(Import(factory.module))
            self.assignments.append(f"{role} = {factory.module}.{factory.name}")
        else:
            found.add(Import(factory.module, factory.name, role if role != factory.name else ""))

    def add_source(self, role: str, source: Source) -> None:
        if not source.expression:
            self.definitions.append(_stub(role, source))
            return
        self.imports.add(Import("__future__", "annotations"))
        if source.missing:
            self.imports.add(Import("keras_training", "needs_values"))
        imports, definitions = imports_in(source.text), _definitions_in(source.text)
        meanings: dict[str, object] = {each.binds: each for each in imports}
        meanings |= {name: text for text in definitions for name in bound_names(ast.parse(text))}
        for module, root in source.roots:
            self._add_root(root, module)
        if self._clash(role, source, meanings):
            self.definitions.append(_own_scope(role, source))
        else:
            self.meanings |= meanings
            for each in imports:
                local = each.module.partition(".")[0] in dict(source.roots)
                (self.local_imports if local else self.imports).add(each)
            self.definitions += [text for text in definitions if text not in self.definitions]
            self.missing += [name for name in source.missing if name not in self.missing]
            text = _guarded(source)
            self.assignments += [f"{role} = {text}"] * (text != role)

    def _clash(self, role: str, source: Source, meanings: dict[str, object]) -> bool:
        """Whether a name would stand for two things in the program."""
        own = {role} if source.expression == role else set()
        return any(
            self.meanings.get(name, meaning) != meaning
            for name, meaning in (meanings | dict.fromkeys(source.missing, "...")).items()
            if name not in own
        )

    def _add_root(self, root: str | None, module: str) -> None:
        path = module.replace(".", "/")
        if root is not None and path not in self.roots.setdefault(root, []):
            self.imports.add(Import("keras_training", "add_folder"))
            self.roots[root].append(path)

    def context(self) -> dict[str, object]:
        folders = (("__file__", *map(literal, (root, *its))) for root, its in self.roots.items())
        return {
            **vars(self),
            "imports": sections(self.imports),
            "local_imports": sections(self.local_imports),
            "roots": [call("add_folder", each) for each in folders],
        }


def preamble(
    factories: Mapping[str, Factory], taken: Iterable[str] = (), imports: Iterable[Import] = ()
) -> dict[str, object]:
    """Return what the templates need so that each factory is a global name in the program."""
    meanings = {**dict.fromkeys(taken), **{each.binds: each for each in imports}}
    result = _Preamble(meanings=meanings, imports={*imports})
    for role, factory in factories.items():
        if factory.module:
            result.add_import(role, factory)
        else:
            result.add_source(role, factory.source or Source(text="", expression=""))
    return result.context()


@lru_cache(maxsize=64)  # Repeats write the same programs again.
def global_names(text: str) -> frozenset[str]:
    """Return every name that a program binds or looks up outside of its functions."""
    names: set[str] = set()
    tables = [symtable.symtable(text, "<program>", "exec")]
    while tables:
        table = tables.pop()
        top = table.get_type() == "module"
        names |= {each.get_name() for each in table.get_symbols() if top or each.is_global()}
        tables += table.get_children()
    return frozenset(names)


def _guarded(source: Source) -> str:
    """Return the factory as an expression, guarded while values are missing."""
    expression = source.expression
    if "\n" in expression:
        expression = f"(\n{indent(expression, '    ')}\n)"
    if not source.missing:
        return expression
    values = ", ".join(f'"{name}": {name}' for name in source.missing)
    return call("needs_values", [expression, f"lambda: {{{values}}}"])


def _stub(role: str, source: Source) -> str:
    # What cannot be written down may have any name.
    names = [each for each in source.missing if is_dotted_name(each)]
    what = " and ".join(names) or "its source"
    return (
        f"def {role}(*arguments: object, **options: object) -> None:\n"
        f'    """Fill in: autotune could not write down {what}."""\n'
        f"    del arguments, options\n"
        f'    raise SystemExit("Fill in {role} at the top of this program first.")'
    )


def _definitions_in(text: str) -> list[str]:
    """Return the texts of all but the imports at the top level of a source."""
    lines, body = text.splitlines(), ast.parse(text).body
    others = [each for each in body if not isinstance(each, ast.Import | ast.ImportFrom)]
    return ["\n".join(lines[first_line(each) - 1 : each.end_lineno]) for each in others]


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
