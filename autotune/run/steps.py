"""The steps of a look at the factories, as they are announced and as they are told."""

from __future__ import annotations

from collections.abc import Mapping

STARTING = "starting"
IMPORTING = "importing the factories"
CALLING_DATASET = "calling dataset_fn"
FIRST_EXAMPLE = "reading the first example"
CALLING_MODEL = "calling model_fn"
TRYING = "running one training step"
LOOKING = "iterating over the dataset"

TOO_LONG: Mapping[str, str] = {
    STARTING: "The process that inspects the factories did not start within",
    IMPORTING: "Importing the factories took longer than",
    CALLING_DATASET: "dataset_fn did not return within",
    FIRST_EXAMPLE: "dataset_fn's dataset yielded no example within",
    CALLING_MODEL: "model_fn did not return within",
    TRYING: "One training step on a few examples took longer than",
    LOOKING: "The dataset yielded no example for more than",
}
"""The beginning of a sentence that ends with a number of seconds."""
