"""Calls of old answers and tutorials, which `old_api.toml` lists with today's words."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Set as AbstractSet
from importlib.resources import files
from typing import Any

from autotune.code.names import same
from autotune.doctor import Hits, Kind, Module, rule
from autotune.doctor.source import Edit, at_end
from autotune.project import version_of

_MISSING = {"AttributeError", "ImportError", "ModuleNotFoundError", "Exception"}
_ASKS = re.compile(
    r"hasattr\(|getattr\(|version|(?<![a-z])(tf|keras)_?[123](?![a-z0-9])|tf2\.enabled"
    r"|tf_?ver|v[12]_behavior|executing_eagerly"
)
"""In the text of a condition, in lower case."""
_CLUSTER = {"cluster_resolver", "tpu_cluster_resolver"}
API: dict[str, dict[str, Any]] = tomllib.loads(
    files("autotune.doctor").joinpath("old_api.toml").read_text("utf-8")
)
Members = Mapping[tuple[Kind | None, str], str]
"""Today's words for a method or member of a kind of value; None stands for any kind."""


class Old:
    """Names that are old in one way, as a table of `old_api.toml` has them."""

    def __init__(self, api: str) -> None:
        table = API[api]
        self.names: Mapping[str, str] = table["names"]
        self.methods = by_kind(table.get("methods", {}))
        self._since = {name: version_of(text) for name, text in table.get("since", {}).items()}
        self._verb, self._renamed = table["verb"], table.get("renamed", ())

    def check(self, module: Module) -> Hits:
        for node, dotted in (*_imported(module), *self._mentioned(module)):
            within = [it for it in self.names if it.endswith(".") and f"{dotted}.".startswith(it)]
            name = dotted if dotted in self.names else max(within, key=len, default="")
            is_gone = name and module.target >= self._since.get(name, module.target)
            if is_gone and not is_guarded(module, node):
                sentence = f"{dotted} {self._verb}; use {self.names[name]}."
                yield node, sentence, _promotion(module, node, self.names[name])
        for (kind, name), today in self.methods.items():
            for node in module.attributes[name]:
                call = module.parents[node]
                called = isinstance(call, ast.Call) and call.func is node
                old = called and kind in {None, module.kind(node.value)}
                if old and not is_guarded(module, node):
                    sentence = f"{ast.unparse(node.value)}.{name} {self._verb}; use {today}."
                    renamed = at_end(node, name, today.rpartition(".")[2])
                    yield call, sentence, renamed if name in self._renamed else None

    def _mentioned(self, module: Module) -> Iterator[tuple[ast.Attribute, str]]:
        for name in self.names:
            for node in module.attributes[name.rstrip(".").rpartition(".")[2]]:
                if module.dotted(node) == name.rstrip("."):
                    whole, above = node, module.parents[node]
                    while name.endswith(".") and isinstance(above, ast.Attribute):
                        whole, above = above, module.parents[above]
                    yield whole, module.dotted(whole)


def by_kind(members: Mapping[str, str]) -> Members:
    pairs = [(each.rpartition("."), today) for each, today in members.items()]
    return {(Kind[kind.upper()] if kind else None, it): today for (kind, _, it), today in pairs}


REMOVED, DEPRECATED = Old("removed"), Old("deprecated")


@rule
def removed_call(module: Module) -> Hits:
    return REMOVED.check(module)


@rule
def deprecated_call(module: Module) -> Hits:
    return DEPRECATED.check(module)


def _imported(module: Module) -> Iterator[tuple[ast.stmt, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((node, same(f"{base}{each.name}")) for each in node.names)


def _promotion(module: Module, node: ast.AST, new: str) -> Edit | None:
    """Return the edit of a call whose name has only left its `experimental`.

    Other arguments than the cluster have other names or places today.
    """
    match node, module.parents[node]:
        case ast.Attribute(value=ast.Attribute() as part), ast.Call(func=func) as call:
            named = {each.arg for each in call.keywords} <= _CLUSTER
            placed = not call.args or (new == "tf.distribute.TPUStrategy" and len(call.args) == 1)
            left = f"{module.dotted(part.value)}.{node.attr}" == new
            whole = func is node and left and named and placed
            return at_end(part, f".{part.attr}", "") if whole else None
    return None


def is_guarded(module: Module, node: ast.AST) -> bool:
    """Return whether the code expects that something at a node may be missing."""
    conditions = ((it, part) for it, part in module.up(node) if isinstance(it, ast.If | ast.IfExp))
    if any(part is not it.test and _asks(it.test) for it, part in conditions):
        return True
    if is_caught(module, node, _MISSING):
        return True
    body = getattr(module.function_of(node), "body", None)
    line = getattr(node, "lineno", 0)
    before = [it for it in body if it.lineno < line] if isinstance(body, list) else []
    return any(map(_may_leave, before))


def is_caught(module: Module, node: ast.AST, errors: AbstractSet[str]) -> bool:
    """Return whether a handler around a node is for some errors, and so holds a substitute."""
    return any(
        handler.type is None or errors & set(re.findall(r"\w+", ast.unparse(handler.type)))
        for each, part in module.up(node)
        if isinstance(each, ast.Try) and part not in each.finalbody
        for handler in each.handlers
    )


def _may_leave(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=test, body=[*_, ast.Return() | ast.Raise()]):
            return _asks(test)
        case ast.Expr(value=ast.Call(func=func)):
            return _asks(func)
    return False


def _asks(test: ast.expr) -> bool:
    return bool(_ASKS.search(ast.unparse(test).lower()))
