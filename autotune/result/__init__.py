"""The result of a search: the configuration, the verdict, the program, and all trials."""

from autotune.result.data import Alternative
from autotune.result.result import Result
from autotune.result.saved import SavedConfiguration, load_configuration
from autotune.result.verdict import Verdict

__all__ = [
    "Alternative",
    "Result",
    "SavedConfiguration",
    "Verdict",
    "load_configuration",
]
