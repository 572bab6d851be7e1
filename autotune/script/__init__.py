"""The program that a configuration stands for: plain TensorFlow, without autotune."""

from autotune.script.cluster import cluster_files
from autotune.script.program import Program, render

__all__ = ["Program", "cluster_files", "render"]
