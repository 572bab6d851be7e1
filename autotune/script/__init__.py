"""The program that a configuration stands for: plain TensorFlow, without autotune."""

from autotune.script.cluster import cluster_files
from autotune.script.epoch import epoch_in_words
from autotune.script.frozen import Frozen, freeze
from autotune.script.pipeline import CACHES
from autotune.script.program import Program, render, script_reader

__all__ = [
    "CACHES",
    "Frozen",
    "Program",
    "cluster_files",
    "epoch_in_words",
    "freeze",
    "render",
    "script_reader",
]
