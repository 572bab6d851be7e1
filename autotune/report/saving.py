"""The page for people, as a file."""

from __future__ import annotations

from pathlib import Path

from autotune.recommendation import Recommendation
from autotune.recommendation.output import put_texts
from autotune.report.html.page import page

NAME = "report.html"


def write_report(found: Recommendation, folder: Path) -> Path:
    """Write report.html into a folder and return that.

    Raises:
        OutputError: It cannot be written.
    """
    put_texts(folder, {NAME: page(found)})
    return folder
