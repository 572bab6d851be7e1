"""A recommendation that shows itself: in a notebook, as a picture, as tables and plain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autotune.recommendation import Recommendation
from autotune.report.document import document
from autotune.report.frame import trials_frame
from autotune.report.html_result import result_html
from autotune.report.plot import plot
from autotune.report.saving import write_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Shown(Recommendation):
    """What `autotune()` returns."""

    def save(self, folder: str | Path) -> Path:
        """Write config.yaml, train.py, what starts a gang, the trials, and report.html.

        Args:
            folder: Made if it does not exist; files of these names are replaced.

        Returns:
            The folder.

        Raises:
            OutputError: It cannot be written.
        """
        super().save(folder)
        return write_report(self, Path(folder))

    def to_dict(self) -> dict[str, Any]:
        """Return what `autotune tune --json` prints, as plain dictionaries, lists and numbers."""
        return document(self, None).plain()

    def trials_frame(self) -> DataFrame:
        """Return the trials as a pandas DataFrame, a row each, indexed by their number.

        Raises:
            MissingPackage: pandas is not installed.
        """
        return trials_frame(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the throughput of the best configurations against one device, with intervals.

        Args:
            ax: Where to draw; None makes a figure.

        Raises:
            MissingPackage: matplotlib is not installed.
        """
        return plot(self, ax)

    def _repr_html_(self) -> str:
        """Return the verdict, the table and the grounds for a notebook's cell."""
        return result_html(self)


def shown(found: Recommendation) -> Shown:
    """Return a recommendation as one that shows itself."""
    return Shown.model_construct(**dict(found))
