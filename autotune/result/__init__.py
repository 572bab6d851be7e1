"""The result of a search: the configuration, the verdict, the program, and all trials."""

from autotune.answer import Verdict as Verdict
from autotune.result.result import Result as Result
from autotune.result.stored import (
    SavedConfiguration as SavedConfiguration,
    load_configuration as load_configuration,
)
