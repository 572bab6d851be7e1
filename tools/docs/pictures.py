"""Takes the pictures of a run and of its report: `python -m tools.docs.pictures`.

The run is a search of a recorded sweep, so nothing is timed and no TensorFlow is needed. The report
is seen by a browser: that of Playwright, or the one that `--browser` names.
"""

import argparse
import re
import tempfile
from contextlib import chdir
from io import BytesIO, StringIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from autotune.events import Event, Notice
from autotune.result.terminal import ProgressReport, result_text
from autotune.search.setup import TuningRequest
from autotune.search.tune import tune
from benchmarks.replay.characters import character
from benchmarks.replay.engine import ReplayEngine
from benchmarks.replay.table import FOLDER as TABLES, read
from benchmarks.replay.world import world_of
from tools.docs.pages import DOCS

FOLDER = DOCS / "figures"
TABLE, SEED, SECONDS = "lstm", 1, 180.0
"""A recurrent network, which gains by distributing."""
OUT = Path("autotune-out")
COLUMNS = 100
REMOTE = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
"""Fonts that Rich would load from another site."""
NAMES = re.compile(r"terminal-\d+")
"""A number that Rich derives from the whole text; a fixed one keeps differences small."""
SCREEN: ViewportSize = {"width": 1280, "height": 800}


class Narrow(ProgressReport):
    """Cuts a line where the picture ends, as a terminal does that does not wrap."""

    def _print(self, line: str, *, timed: bool = True, row: bool = False) -> None:
        room = COLUMNS - 9
        shown = line if len(line) <= room else f"{line[: room - 1]}…"
        super()._print(shown, timed=timed, row=row)


def draw_run() -> None:
    """Draw what a terminal shows of the search, whose files lie in the working folder."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, highlight=False
    )
    swept = character(TABLE)
    request = TuningRequest(
        workload=swept.workload,
        space=swept.space,
        options=swept.constraints.model_copy(update={"seed": SEED, "budget": SECONDS}),
        out=OUT,
        files=True,
    )
    console.print(
        f"$ autotune tune {TABLE}.py:model_fn {TABLE}.py:dataset_fn --space {TABLE}.yaml\n"
    )
    with Narrow(console) as report:

        def show(event: Event) -> None:
            if not isinstance(event, Notice):  # of what the replay cannot do
                report(event)

        world = world_of(read(TABLES / f"{TABLE}.json.xz"))
        result = tune(request, ReplayEngine(world, SEED), show)
    console.print(result_text(result, OUT))
    title = f"autotune tune, replayed from the recorded sweep of {TABLE}"
    text = console.export_svg(title=title, theme=SVG_EXPORT_THEME)
    text = NAMES.sub("terminal", REMOTE.sub("", text))
    (FOLDER / "run.svg").write_text("\n".join(map(str.rstrip, text.splitlines())) + "\n", "utf-8")


def draw_report(page: Path, browser: str | None) -> None:
    """Take the first screen of a report, in few colours, so that the file stays small."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = opened.new_page(viewport=SCREEN, color_scheme="light")
        tab.goto(page.as_uri())
        taken = Image.open(BytesIO(tab.screenshot()))
        opened.close()
    taken.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(
        FOLDER / "report.png", optimize=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", help="the program to take the picture with")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        draw_run()
        draw_report((OUT / "report.html").resolve(), options.browser)


if __name__ == "__main__":
    main()
