"""Finds the mistakes of distributed TensorFlow in training code, without running or importing it.

A file becomes a `Module` (`code`), which each rule (`rules`, one file each) asks what it needs to
know. Where a name cannot be followed to what it stands for, a rule stays quiet: a finding that is
wrong costs more trust than one that is missing.
"""

from autotune.doctor.code import Kind, Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import HERE, Hit, mended

__all__ = ["HERE", "Hit", "Kind", "Module", "Severity", "mended"]
