"""Device names, as TensorFlow reads them, and places where they do harm."""

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

from autotune.doctor import Hits, Module, rule

_PART = re.compile(
    r"(?::.*)?|(?:job|replica|task):[^:]*|device:(?P<of>[^:]*):(?P<at>\d+|\*)"
    r"|(?P<type>(?i:CPU|GPU|TPU|TPU_SYSTEM|XLA_CPU|XLA_GPU))(?::(?P<index>\d+|\*))?"
)
_TAKE = ("tf.device", "tf.distribute.OneDeviceStrategy", "tf.distribute.MirroredStrategy")
_WORDS = {"gpu": "GPU", "cpu": "CPU", "tpu": "TPU", "cuda": "GPU"}


@rule
def device_in_replica(module: Module) -> Hits:
    for call in module.calls_of("tf.device"):
        if call.args and module.function_of(call) in module.on_replicas:
            name = ast.unparse(call.args[0])
            kind, index = read_device(_written(module, call.args[0]) or "") or ("", "*")
            # The first CPU is the host, which all may use.
            if kind and index != "*" and (kind, index) != ("CPU", "0") and "replica" not in name:
                yield call, f"Every replica computes on {name} here, whatever its own device."


@rule
def misspelt_device(module: Module) -> Hits:
    for node in (each for call in module.calls_of(*_TAKE) for each in _names(module, call)):
        name = _written(module, node)
        if name is not None and read_device(name) is None:
            found = re.search(r"([a-z]+)\D*(\d*)\D*$", name.lower().replace("device", ""))
            close = get_close_matches(found[1], _WORDS) if found else []
            meant = f"{_WORDS[close[0]]}:{found[2] or 0}" if found and close else ""
            hint = f" Did you mean '{meant}'?" if meant else ""
            yield node, f"{name!r} is not a TensorFlow device name.{hint}"


def read_device(name: str) -> tuple[str, str] | None:
    """Return the type of a device name, or an empty text, and its index, or `*`.

    None stands for a name that TensorFlow refuses.
    """
    parts = [_PART.fullmatch(each) for each in name.split("/")]
    found = [each.groupdict() for each in parts if each and (each["of"] or each["type"])]
    if None in parts or len(found) > 1:
        return None
    device = found[0] if found else dict.fromkeys(_PART.groupindex)
    return (device["of"] or device["type"] or "").upper(), device["at"] or device["index"] or "*"


def _written(module: Module, node: ast.expr) -> str | None:
    """Return the device name that an expression gives; 0 stands for numbers that are computed."""
    match module.value(node) if isinstance(node, ast.Name) else node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=[ast.Constant(), *_] as parts):
            return "".join(str(it.value) if isinstance(it, ast.Constant) else "0" for it in parts)
    return None


def _names(module: Module, call: ast.Call) -> Iterator[ast.expr]:
    named = (each.value for each in call.keywords if (each.arg or "").startswith("device"))
    for given in (*call.args[:1], *named):
        match module.resolved(given):
            case ast.List(elts=several) | ast.Tuple(elts=several):
                yield from several
            case ast.ListComp(elt=each):
                yield each
            case _:
                yield given
