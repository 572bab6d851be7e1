"""What the text of a module tells of its names, values and functions."""

from autotune.lint.code.kinds import Kind
from autotune.lint.code.module import Module

__all__ = ["Kind", "Module"]
