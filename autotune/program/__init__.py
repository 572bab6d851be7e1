"""The program that a configuration stands for: plain TensorFlow, without autotune."""

from autotune.program.cluster import cluster_files
from autotune.program.pipeline import CACHES
from autotune.program.program import Program, render, script_reader
from autotune.program.words import epoch_in_words

__all__ = [
    "CACHES",
    "Program",
    "cluster_files",
    "epoch_in_words",
    "render",
    "script_reader",
]
