"""How the user's factories get into the program: by import, or with their own text."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent

from autotune.script.imports import Import, imports_of
from autotune.script.text import call, literal, listing
from autotune.workload import Factory, Workload
from autotune.workload.source import Source

RESERVED = frozenset(
    """
    argparse keras main make_dataset make_strategy make_train_steps needs_values parse_arguments
    run_epoch save Sequence Callable Any spread_random_streams steps_of_an_epoch sys tempfile
    Path tf train worker_index EXAMPLES GLOBAL_BATCH PER_REPLICA_BATCH REPLICAS STEPS_PER_EPOCH
    STEPS_PER_EXECUTION
    """.split()
)
"""Names that the program uses itself, so that no text of the user's may bind them."""


@dataclass(kw_only=True)
class Factories:
    """What the factories add to the top of the program; filled one factory after the other."""

    imports: set[Import]
    local_imports: set[Import]
    """Imports that work only once `roots` are on the path."""
    roots: list[str]
    missing: list[str]
    """Names of values that the user must fill in."""
    definitions: list[str]
    assignments: list[str]


def factories(workload: Workload) -> Factories:
    """Return what the program needs so that each factory is a global name in it."""
    parts = Factories(
        imports=set(), local_imports=set(), roots=[], missing=[], definitions=[], assignments=[]
    )
    for role, factory in _roles(workload):
        if factory.module:
            _add_import(parts, role, factory)
        else:
            _add_source(parts, role, factory.source or Source(text="", expression=""))
    return parts


def _roles(workload: Workload) -> Iterable[tuple[str, Factory]]:
    yield "model_fn", workload.model
    yield "dataset_fn", workload.dataset
    if workload.callbacks is not None:
        yield "callbacks_fn", workload.callbacks


def _add_import(parts: Factories, role: str, factory: Factory) -> None:
    found = parts.imports if factory.root is None else parts.local_imports
    if factory.root is not None and factory.root not in parts.roots:
        parts.roots.append(factory.root)
    if "." in factory.name:
        found.add(Import(factory.module))
        parts.assignments.append(f"{role} = {factory.module}.{factory.name}")
    else:
        alias = "" if factory.name == role else role
        found.add(Import(factory.module, factory.name, alias))


def _add_source(parts: Factories, role: str, source: Source) -> None:
    if not source.expression:
        parts.definitions.append(_stub(role, source))
        return
    imports, definitions = _split(source.text)
    if _clashes(parts, role, imports, definitions):
        parts.definitions.append(_own_scope(role, source))
        expression = role
    else:
        parts.imports.update(imports)
        parts.definitions += [text for text in definitions if text not in parts.definitions]
        expression = source.expression
    parts.missing += [name for name in source.missing if name not in parts.missing]
    if source.missing:
        names = [("", expression), *(("", literal(name)) for name in source.missing)]
        parts.assignments.append(call("needs_values", names, before=f"{role} = "))
    elif expression != role:
        parts.assignments.append(_assignment(role, expression))


def _assignment(role: str, expression: str) -> str:
    if "\n" in expression:
        return f"{role} = (\n{indent(expression, '    ')}\n)"
    return f"{role} = {expression}"


def _stub(role: str, source: Source) -> str:
    what = listing(source.missing) or "its source"
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
            first = min([node.lineno, *(each.lineno for each in _decorators(node))])
            definitions.append("\n".join(lines[first - 1 : node.end_lineno]))
    return imports, definitions


def _decorators(node: ast.stmt) -> list[ast.expr]:
    found: list[ast.expr] = getattr(node, "decorator_list", [])
    return found


def _clashes(
    parts: Factories, role: str, imports: Iterable[Import], definitions: Iterable[str]
) -> bool:
    """Whether a name would mean two things in the program."""
    meanings: dict[str, object] = {each.binds: each for each in parts.imports}
    meanings |= {each: Import(each) for each in ("argparse", "keras", "sys")}
    meanings["tf"] = Import("tensorflow", "", "tf")
    meanings |= {name: text for text in parts.definitions for name in _bound(text)}
    new = [(each.binds, each) for each in imports]
    texts = [(name, text) for text in definitions for name in _bound(text)]
    taken = RESERVED | ({"model_fn", "dataset_fn", "callbacks_fn"} - {role})
    return any(name in meanings and meanings[name] != what for name, what in [*new, *texts]) or any(
        name in taken and name not in meanings for name, _ in [*new, *texts]
    )


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
    body = ast.unparse(ast.parse(f"{source.text}\n"))
    return (
        f"def _scope_of_{role}() -> Callable[..., Any]:\n"
        f'    """Keep the names that {role} needs apart from those of this program."""\n'
        f"{indent(body, '    ')}\n"
        f"    return {source.expression}\n\n\n"
        f"{role} = _scope_of_{role}()"
    )
