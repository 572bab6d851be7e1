"""The program that a configuration stands for: plain TensorFlow, without autotune."""

from autotune.script.program import Program, render

__all__ = ["Program", "render"]
