"""The program that a configuration stands for: plain TensorFlow, without autotune."""

from autotune.program.cluster import cluster_files as cluster_files
from autotune.program.pipeline import CACHES as CACHES
from autotune.program.program import (
    EPOCHS as EPOCHS,
    Program as Program,
    render as render,
    script_reader as script_reader,
)
from autotune.program.words import epoch_in_words as epoch_in_words
