"""What the text of a module tells of its names, values and functions."""

from autotune.doctor.code.kinds import Kind
from autotune.doctor.code.module import Module

__all__ = ["Kind", "Module"]
