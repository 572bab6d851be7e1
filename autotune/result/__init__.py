"""The result of a search: the configuration, the verdict, the program, and all trials."""

from autotune.result.result import Alternative, Result
from autotune.result.saved import SavedConfiguration, Verdict, load_configuration

__all__ = [
    "Alternative",
    "Result",
    "SavedConfiguration",
    "Verdict",
    "load_configuration",
]
