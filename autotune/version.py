"""The version of autotune, from its one declaration in pyproject.toml."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("autotune")
