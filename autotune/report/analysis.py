"""The trials as a table of pandas, and the compared configurations as a picture."""

from __future__ import annotations

import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from autotune.config import axes
from autotune.extras import needed
from autotune.reason.sentences import reason_text
from autotune.report.result import best_rows, outcome_of
from autotune.result import Result
from autotune.result.files import COLUMNS
from autotune.result.leaderboard import Entry
from autotune.strategies import in_short
from autotune.trial import Stage, Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

COMPARED = "vs_one_device"
LABEL, TITLE = 34, 68
"""Characters in a line."""
CHOSEN, OTHER = "C0", "0.5"


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


def plot(result: Result, ax: Axes | None) -> Axes:
    """Draw a line for each configuration: its 95% interval, and a point for each of its runs.

    Raises:
        MissingPackage: matplotlib is not installed.
    """
    pyplot = needed("matplotlib.pyplot", by="result.plot()", extra="notebook")
    finalists, explored = best_rows(result)
    rows = [*finalists, *explored]
    if ax is None:
        _, made = pyplot.subplots(figsize=(8, 1.6 + 0.55 * len(rows)), layout="constrained")
        ax = made
    for place, row in enumerate(rows):
        _draw(ax, place, row, result)
    _compare(ax, rows, result)
    ax.set_yticks(range(len(rows)), [_label(row, result) for row in rows], fontsize="small")
    ax.set_ylim(len(rows) - 0.5, -0.9)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("examples/s, with 95% intervals; points are single runs")
    ax.set_title("\n".join(textwrap.wrap(result.summary, TITLE)), fontsize="medium", loc="left")
    return ax


def _draw(ax: Axes, place: int, row: Entry, result: Result) -> None:
    rate, chosen = row.examples_per_second, row.configuration == result.config
    errors = [[rate.value - rate.low], [rate.high - rate.value]]
    colour = CHOSEN if chosen else OTHER
    ax.errorbar([rate.value], [place], xerr=errors, fmt="o", color=colour, capsize=4)
    runs = [
        trial.examples_per_second
        for trial in result.trials
        if trial.configuration == row.configuration
        and (trial.stage is Stage.FINAL) == row.final
        and trial.examples_per_second
    ]
    ax.plot(runs, [place] * len(runs), ".", color=colour, alpha=0.4, markersize=5)


def _compare(ax: Axes, rows: list[Entry], result: Result) -> None:
    alone = next((row for row in rows if row.configuration == result.one_device), None)
    if alone:
        ax.axvline(alone.examples_per_second.value, color=OTHER, linestyle=":", zorder=0)
        ax.text(
            alone.examples_per_second.value,
            1.0,
            " best single device",
            transform=ax.get_xaxis_transform(),
            fontsize="x-small",
            va="top",
        )


def _label(row: Entry, result: Result) -> str:
    words = f"{outcome_of(row, result)}: {in_short(row.configuration)}"
    return "\n".join(textwrap.wrap(words, LABEL, max_lines=3, placeholder="…"))
