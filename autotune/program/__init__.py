"""The program that a configuration stands for: plain TensorFlow, without autotune."""

from autotune.program.cluster import cluster_files as cluster_files
from autotune.program.program import (
    CACHES as CACHES,
    Program as Program,
    epoch_in_words as epoch_in_words,
    epochs_of as epochs_of,
    render as render,
    script_reader as script_reader,
    share_of_epochs as share_of_epochs,
)
