"""The trials as a table of pandas."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from autotune.config import axes
from autotune.extras import needed
from autotune.reason.sentences import reason_text
from autotune.result import Result
from autotune.result.files import COLUMNS
from autotune.strategies import in_short
from autotune.trial import Trial

if TYPE_CHECKING:
    from pandas import DataFrame

COMPARED = "vs_one_device"


def trials_frame(result: Result) -> DataFrame:
    """Return the columns of trials.csv, one for each axis, and the ratio to one device.

    Raises:
        MissingPackage: pandas is not installed.
    """
    pandas = needed("pandas", by="result.trials_frame()", extra="notebook")
    board = result.board()
    rows = [_row(trial, board.speedup_of(trial)) for trial in result.trials]
    names = [*COLUMNS, COMPARED, "configuration", *axes()]
    frame: DataFrame = pandas.DataFrame(rows, columns=None if rows else names)
    return frame.set_index("number")


def _row(trial: Trial, compared: float | None) -> dict[str, Any]:
    figures = {name: _plain(getattr(trial, name)) for name in COLUMNS}
    figures["reason"] = reason_text(trial.reason)
    short = {COMPARED: compared, "configuration": in_short(trial.configuration)}
    return figures | short | trial.configuration.values()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value
