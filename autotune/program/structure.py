"""Makes sure that a program holds the user's values as values, and never as code.

A program is written a second time with a placeholder for each value. Put the values into the syntax
tree of that one, and it must be the tree of the program: so no value has ended a text or a comment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from autotune.config import Configuration, accepts, axes
from autotune.errors import ConfigurationError
from autotune.program.text import literal
from autotune.value import Scalar
from autotune.workload import Factory, Script, Workload, is_dotted_name

_Pairs = tuple[tuple[str, Scalar], ...]


class Placeholders:
    """Texts that stand in for values."""

    def __init__(self) -> None:
        """Begin with none."""
        self.values: dict[str, Scalar] = {}

    def of_configuration(self, configuration: Configuration) -> Configuration:
        """Return the configuration without values that may be any text."""
        # Axes of the user's own, and those of packages whose type allows every text.
        free = (
            (name, value)
            for name, value in configuration.arguments
            if name not in axes() or (isinstance(value, str) and accepts(name, "any") is None)
        )
        return configuration.taking(dict(self._pairs(tuple(free))))

    def of_workload(self, workload: Workload) -> Workload:
        """Return the workload without the values of fixed arguments and without folders."""
        factories = workload.factories.items()
        update: dict[str, object] = {
            role.removesuffix("_fn"): self._of_factory(each) for role, each in factories
        }
        if workload.script:
            update["script"] = self._of_script(workload.script)
        return workload.model_copy(update=update)

    def _of_script(self, script: Script) -> Script:
        arguments = tuple(map(self._text, script.arguments))
        return script.model_copy(update={"path": self._text(script.path), "arguments": arguments})

    def _of_factory(self, factory: Factory) -> Factory:
        source = factory.source
        if source is not None:
            roots = tuple((module, self._text(root)) for module, root in source.roots)
            source = source.model_copy(update={"roots": roots})
        root = None if factory.root is None else self._text(factory.root)
        arguments = self._pairs(factory.arguments)
        return factory.model_copy(update={"arguments": arguments, "root": root, "source": source})

    def _pairs(self, pairs: _Pairs) -> _Pairs:
        return tuple((name, self._text(value)) for name, value in pairs)

    def _text(self, value: Scalar) -> str:
        # One for each value, since a folder that stands twice is written once.
        known = (text for text, each in self.values.items() if _same(each, value))
        text = next(known, f"autotune's placeholder {len(self.values)}")
        self.values[text] = value
        return text


def check_structure(
    text: str | None, with_placeholders: str | None, values: Mapping[str, Scalar]
) -> None:
    """Make sure that a program differs from another one by values only.

    Args:
        text: The program, or None where there is none.
        with_placeholders: The same, written with placeholders.
        values: What the placeholders stand for.

    Raises:
        ConfigurationError: The program's structure depends on a value.
    """
    if text is None or with_placeholders is None or text == with_placeholders:
        return
    if not _differ_by_values(text, with_placeholders, tuple(values.items())):
        raise _broken(values)


@lru_cache(maxsize=64)  # The finals write the same few programs again and again.
def _differ_by_values(text: str, with_placeholders: str, values: _Pairs) -> bool:
    try:
        found = _without_docstring(ast.parse(text))
        wanted = _without_docstring(ast.parse(with_placeholders))
    except (SyntaxError, ValueError):
        return False
    return _equal(found, wanted, dict(values))


def _equal(found: object, wanted: object, values: Mapping[str, Scalar]) -> bool:
    """Return whether two trees are equal once the second one's placeholders are filled in.

    Side by side and without recursion, because every trial waits for it.
    """
    pairs = [(found, wanted)]
    while pairs:
        one, other = pairs.pop()
        if (
            isinstance(other, ast.Constant)
            and isinstance(other.value, str)
            and other.value in values
        ):
            if not _is_value(one, values[other.value]):
                return False
        elif type(one) is not type(other):
            return False
        elif isinstance(one, ast.AST):
            pairs += [(getattr(one, f, None), getattr(other, f, None)) for f in one._fields]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif one != other:
            return False
    return True


def _is_value(node: object, value: Scalar) -> bool:
    wanted = ast.parse(literal(value), mode="eval").body
    return isinstance(node, ast.AST) and ast.dump(node) == ast.dump(wanted)


def check_names(configuration: Configuration, workload: Workload) -> None:
    """Make sure that what the program uses as a name is one.

    Raises:
        ConfigurationError: The name of a factory, a module or a parameter is no Python name.
    """
    parameters = [name for name, _ in configuration.arguments]
    for factory in workload.factories.values():
        _check_names("factory", [factory.module, factory.name] if factory.module else [])
        parameters += [name for name, _ in factory.arguments]
    _check_names("parameter", parameters)


def check_plain(what: str, text: str) -> None:
    """Make sure that a text may stand anywhere in a file that is no Python program.

    Raises:
        ConfigurationError: It holds more than letters, digits, dots, hyphens and the like.
    """
    if not text.isascii() or not all(each.isalnum() or each in "._+-" for each in text):
        raise ConfigurationError(
            f"The {what} {text!r} cannot be written into a file.",
            "Use letters, digits, '.', '_', '+' and '-'.",
        )


def _check_names(what: str, names: Iterable[str]) -> None:
    for name in names:
        if not is_dotted_name(name):
            raise ConfigurationError(
                f"{name!r} is not the name of a {what}.",
                "Use a Python name: letters, digits and underscores.",
            )


def _without_docstring(tree: ast.Module) -> ast.Module:
    """Return a program without what it says of itself, which may hold plain values."""
    if ast.get_docstring(tree) is not None:
        tree.body[0] = ast.Pass()
    return tree


def _same(one: Scalar, other: Scalar) -> bool:
    return type(one) is type(other) and literal(one) == literal(other)


def _broken(values: Mapping[str, Scalar]) -> ConfigurationError:
    texts = sorted({each for each in values.values() if isinstance(each, str)}, key=len)
    return ConfigurationError(
        "A value would change the structure of the generated program.",
        f"Use plainer text for one of: {', '.join(map(repr, texts))}." if texts else "",
    )
