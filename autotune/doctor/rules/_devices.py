"""Device names, as TensorFlow reads them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from autotune.doctor.code import Module
from autotune.hints import closest

TYPES = ("CPU", "GPU", "TPU", "TPU_SYSTEM", "XLA_CPU", "XLA_GPU")
_PLACES = {"job", "replica", "task"}
_WORDS = {"gpu": "GPU", "cpu": "CPU", "tpu": "TPU", "cuda": "GPU"}


@dataclass(frozen=True, kw_only=True)
class Device:
    """What a device name says; empty where it does not."""

    kind: str = ""
    index: int | None = None


def read_device(name: str) -> Device | None:
    """Return what a device name says, or None if TensorFlow refuses it."""
    found = Device()
    for part in filter(None, name.split("/")):
        words = part.split(":")
        if not words[0]:
            continue
        if words[0] in _PLACES and len(words) == 2:
            continue
        if words[0] == "device" and len(words) == 3:
            words = words[1:]
        elif words[0].upper() not in TYPES or len(words) > 2:
            return None
        index = words[1] if len(words) == 2 else "*"
        if found.kind or not re.fullmatch(r"\d+|\*", index):
            return None
        found = Device(kind=words[0].upper(), index=None if index == "*" else int(index))
    return found


def written_device(module: Module, node: ast.expr) -> str | None:
    """Return the device name that an expression gives; 0 stands for numbers that are computed."""
    if isinstance(node, ast.Name):
        value = module.scopes.value(node)
        return None if value is None or value is node else _constant(value)
    return _constant(node)


def _constant(node: ast.expr) -> str | None:
    if isinstance(node, ast.JoinedStr):
        parts = [each.value if isinstance(each, ast.Constant) else "0" for each in node.values]
        computed = any(isinstance(each, ast.FormattedValue) for each in node.values[:1])
        return None if computed else "".join(map(str, parts))
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text and isinstance(node, ast.Constant) else None


def meant_device(name: str) -> str:
    """Return the device name that a refused one may have been meant as, or nothing."""
    found = re.search(r"([a-z]+)\D*(\d*)\D*$", name.lower().replace("device", ""))
    close = closest(found[1], _WORDS) if found else []
    if not found or not close:
        return ""
    return f"{_WORDS[close[0]]}:{found[2] or 0}"
