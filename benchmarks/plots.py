"""The plots of the pages, each drawn from the tables of its page: `python -m benchmarks.plots`.

A command that writes a page draws its plot as well, so both show the same figures.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "benchmarks"
FIGURES = ROOT / "docs" / "figures"
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
ALONE, SEVERAL, PALE = "#6b7280", "#3046c5", "#9aa6ec"
STYLE: Any = {
    "svg.hashsalt": "autotune",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
Row = Mapping[str, str]


def draw(page: Path, folder: Path = FIGURES) -> Path | None:
    """Draw the plot of a page, if it has one, and return where it is."""
    plot = PLOTS.get(page.stem)
    if plot is None:
        return None
    import matplotlib as mpl  # noqa: PLC0415 - a command without a plot needs none
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    mpl.use("Agg")
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        plot(axes, tables(page.read_text("utf-8")))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{page.stem}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    path.write_text("\n".join(map(str.rstrip, path.read_text().splitlines())) + "\n")
    return path


def tables(text: str) -> list[list[Row]]:
    """Return the tables of a page, each row by its headings."""
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    return [[*_rows(block.splitlines())] for block in blocks]


def numbers(cell: str) -> list[float]:
    """Return the numbers of a cell: a figure, and the ends of its interval."""
    return [float(each.replace(",", "")) for each in NUMBER.findall(cell)]


def _rows(lines: Sequence[str]) -> Iterator[Row]:
    heads, _, *rows = ([*map(str.strip, line.strip("|").split("|"))] for line in lines)
    # The first of two columns without a heading names the row.
    yield from (dict(reversed([*zip(heads, row, strict=True)])) for row in rows)


def _of(every: Sequence[Sequence[Row]], *heads: str) -> list[Row]:
    """Return the rows of all tables that have these headings."""
    return [row for rows in every for row in rows if all(head in row for head in heads)]


def _whiskers(figures: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return how far the ends of intervals are from their figures, as `errorbar` takes it."""
    return [[v - low for v, low, _ in figures], [high - v for v, _, high in figures]]


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    """Name rows of a plot, the first one above."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()


def _dots(
    axes: Any,
    figures: Sequence[Sequence[float]],
    heights: Sequence[float],
    colour: str,
    label: str,
) -> None:
    """Draw figures with their intervals, from left to right."""
    axes.errorbar(
        [each[0] for each in figures],
        heights,
        xerr=_whiskers(figures),
        fmt="o",
        color=colour,
        markersize=4,
        label=label,
    )


def _delivered(axes: Any, every: list[list[Row]]) -> None:
    rows = [
        row for row in _of(every, "predicted, examples/s", "achieved") if row["achieved"] != "-"
    ]
    names = [row["workload"].partition(":")[0] for row in rows]
    for height, row in enumerate(rows):
        predicted, low, high = numbers(row["predicted, examples/s"])
        axes.plot([low / predicted, high / predicted], [height] * 2, color=PALE, linewidth=5)
        axes.plot(numbers(row["achieved"])[0] / predicted, height, "o", color=SEVERAL)
    axes.axvline(1, color="gray", linewidth=0.8)
    _name_rows(axes, names)
    axes.set(
        xlabel="achieved throughput (dot) over the predicted one, with its 95 % interval (bar)"
    )


def _default_space(axes: Any, every: list[list[Row]]) -> None:
    rows = _of(every, "searched", "share of the best", "said")
    names = [*dict.fromkeys(row["workload"] for row in rows)]
    kinds = [*dict.fromkeys((row["searched"], row["measured again"]) for row in rows)]
    colours = (SEVERAL, PALE, ALONE, "#c4c8d0")
    for place, (kind, colour) in enumerate(zip(kinds, colours, strict=True)):
        mine = [r for r in rows if (r["searched"], r["measured again"]) == kind]
        shares = [numbers(row["share of the best"]) for row in mine]
        heights = [names.index(row["workload"]) + 0.18 * place - 0.27 for row in mine]
        _dots(axes, shares, heights, colour, f"searched {kind[0]}, measured {kind[1]}")
    axes.axvline(0.95, color="gray", linewidth=0.8, linestyle=":")
    _name_rows(axes, names)
    axes.set(xlabel="throughput of what is recommended, as a share of the best known")
    axes.figure.legend(loc="outside upper center", ncols=2)


def _scaling(axes: Any, every: list[list[Row]]) -> None:
    rows = _of(every, "measured, ms", "predicted, ms")
    for source, colour in (("1, 2", PALE), ("1, 2, 3", SEVERAL)):
        mine = [row for row in rows if row["from hosts"] == source]
        predicted = [numbers(row["predicted, ms"]) for row in mine]
        measured = [float(row["measured, ms"]) for row in mine]
        _dots(axes, predicted, measured, colour, f"from {source} hosts")
    ends = [8, 2500]
    axes.plot(ends, ends, color="gray", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="predicted step, ms", ylabel="measured step, ms")
    axes.legend(loc="upper left")


def _peers(axes: Any, every: list[list[Row]]) -> None:
    [rows, *_] = [rows for rows in every if "missed" in rows[0]]
    for height, row in enumerate(rows):
        median, lowest = (100 * each for each in numbers(row["share"]))
        axes.plot([lowest, median], [height] * 2, color=PALE, linewidth=5)
        axes.plot(median, height, "o", color=SEVERAL)
    _name_rows(axes, [row[""] for row in rows])
    axes.set(
        xlabel="% of the best throughput: median (dot) and lowest search",
        xlim=(0, 102),
    )


PLOTS: Mapping[str, Callable[[Any, list[list[Row]]], None]] = {
    "default-space": _default_space,
    "delivered": _delivered,
    "peers": _peers,
    "scaling": _scaling,
}
"""By the names of pages."""


def main() -> None:
    """Draw the plots of all pages as they are."""
    for name in PLOTS:
        print(draw(PAGES / f"{name}.md"))


if __name__ == "__main__":
    main()
