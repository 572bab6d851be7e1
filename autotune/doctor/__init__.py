"""Finds the mistakes of distributed TensorFlow in training code, without running or importing it.

A file becomes a `Module` of `autotune.code`, which each rule (`rules`) asks what it needs to know.
Where a name cannot be followed to what it stands for, a rule stays quiet: a finding that is wrong
costs more trust than one that is missing.
"""

from autotune.code.functions import argument, arguments, last_name
from autotune.code.module import Module
from autotune.code.names import Comprehension, Function, PythonLoop
from autotune.code.values import MULTI_WORKER, ONE_DEVICE, Kind, made_by
from autotune.doctor.rule import Hits, Severity, rule

__all__ = ["Hits", "Kind", "Module", "Severity", "rule"]
__all__ += ["MULTI_WORKER", "ONE_DEVICE", "Comprehension", "Function", "PythonLoop"]
__all__ += ["argument", "arguments", "last_name", "made_by"]
