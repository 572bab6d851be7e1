"""Should I distribute this Keras training, how, and with which settings?

    import autotune

    result = autotune.tune(model_fn, dataset_fn, budget="3min")
    print(result)
    result.save("out/")

What belongs to one of these types is public too, in its module: the kinds of a `Reason` in
`autotune.reason`, what an `Engine` is handed in `autotune.engine.base`.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
"""It says to type checkers too in which module each public name stands."""
_IMPORTS = (each for each in _STUB.body if isinstance(each, ast.ImportFrom))
_HOME = {name.asname: each.module for each in _IMPORTS for name in each.names}
__all__ = sorted(_HOME, key=lambda name: (name.islower(), name))  # noqa: PLE0605 - see above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name == "__version__":
        from autotune.installed import VERSION  # noqa: PLC0415 - as the other names

        return VERSION
    if name not in _HOME:
        raise AttributeError(f"module 'autotune' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__all__})
