"""Device names, as TensorFlow reads them."""

import ast
import re

from autotune.doctor import Module

_PART = re.compile(
    r"(?::.*)?|(?:job|replica|task):[^:]*|device:(?P<of>[^:]*):(?P<at>\d+|\*)"
    r"|(?P<type>(?i:CPU|GPU|TPU|TPU_SYSTEM|XLA_CPU|XLA_GPU))(?::(?P<index>\d+|\*))?"
)


def read_device(name: str) -> tuple[str, str] | None:
    """Return type and index that a device name says, or None if TensorFlow refuses it.

    Where it says none, the type is empty, and the index `*`.
    """
    parts = [_PART.fullmatch(each) for each in name.split("/")]
    found = [each.groupdict() for each in parts if each and (each["of"] or each["type"])]
    if None in parts or len(found) > 1:
        return None
    device = found[0] if found else dict.fromkeys(_PART.groupindex)
    return (device["of"] or device["type"] or "").upper(), device["at"] or device["index"] or "*"


def written_device(module: Module, node: ast.expr) -> str | None:
    """Return the device name that an expression gives; 0 stands for numbers that are computed."""
    match module.value(node) if isinstance(node, ast.Name) else node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=[ast.Constant(), *_] as parts):
            return "".join(str(it.value) if isinstance(it, ast.Constant) else "0" for it in parts)
    return None
