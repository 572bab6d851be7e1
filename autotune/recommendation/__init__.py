"""The result of a search: the configuration, the verdict, the program, and all trials."""

from autotune.recommendation.recommendation import Recommendation
from autotune.recommendation.saved import SavedConfiguration, load_configuration
from autotune.recommendation.verdict import Verdict

__all__ = ["Recommendation", "SavedConfiguration", "Verdict", "load_configuration"]
