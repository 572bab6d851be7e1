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
    """A recommendation with plots, tables and files, as `autotune()` returns it."""

    def save(self, folder: str | Path) -> Path:
        """Write the configuration, program, trials and report to a folder.

        The files are `config.yaml`, `train.py`, `trials.csv`, `trials.jsonl` and `report.html`;
        for several workers also `launch.py` (this machine), `launch.slurm` and `jobset.yaml`
        (several machines).

        Args:
            folder: Created if missing; existing files of these names are overwritten.

        Returns:
            The folder.

        Raises:
            OutputError: The folder or a file is not writable.
        """
        super().save(folder)
        return write_report(self, Path(folder))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-serializable data, the same as `autotune tune --json`."""
        return document(self, None).plain()

    def trials_frame(self) -> DataFrame:
        """Return all trials as a pandas DataFrame, one row per trial, indexed by number.

        The columns are those of `trials.csv`, the axes of the configuration, and `vs_one_device`,
        the throughput relative to the best single-device configuration.

        Raises:
            MissingPackage: pandas is not installed.
        """
        return trials_frame(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the throughput of the best configurations against one device, with 95% intervals.

        Args:
            ax: Axes to plot into; None creates a new figure.

        Returns:
            The axes.

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
