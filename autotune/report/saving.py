"""A result with all its files, the page for people among them."""

from __future__ import annotations

from pathlib import Path

from autotune.recommendation import Recommendation
from autotune.recommendation.output import put_texts
from autotune.report.html.page import page

NAME = "report.html"


class Result(Recommendation):
    """A recommendation that also tells itself to people."""

    def save(self, folder: str | Path) -> Path:
        """Write config.yaml, train.py, launch.py for a gang, the trials, and report.html.

        Args:
            folder: Made if it does not exist; files of these names are replaced.

        Returns:
            The folder.

        Raises:
            OutputError: It cannot be written.
        """
        super().save(folder)
        return write_report(self, Path(folder))


def result_of(found: Recommendation) -> Result:
    """Return a recommendation as a result that saves all of its files."""
    return Result.model_construct(**dict(found))


def write_report(found: Recommendation, folder: Path) -> Path:
    """Write report.html into a folder and return that.

    Raises:
        OutputError: It cannot be written.
    """
    put_texts(folder, {NAME: page(found)})
    return folder
