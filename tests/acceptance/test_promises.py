"""What a search tells is what was measured, by one base and one criterion.

On engines that take no time, through the installed command and the files that it leaves.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

import pytest

from .conftest import Run

RATIO = re.compile(r"(?<![\d.,])\d+\.\d\d(?![\d%])")
WHY = re.compile(r"\b(because|not|needs|only|too)\b")
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Told:
    """What a search has printed, and the files that it has left."""

    answer: str
    progress: str
    result: dict[str, Any]
    trials: list[dict[str, Any]]

    @property
    def table(self) -> list[str]:
        """The rows of the answer's table, in their order."""
        return [line for line in self.answer.splitlines() if "±" in line and RATIO.search(line)]

    def rates(self, configuration: dict[str, Any]) -> list[float]:
        """Return what each measured run of a configuration reached, in examples per second."""
        mine = (t for t in self.trials if t["configuration"] == configuration)
        return [t["examples_per_second"] for t in mine if t["outcome"] == "measured"]


Search = Callable[..., Told]


@pytest.fixture(scope="module")
def search(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Search:
    """Searches on an engine of `promised`, once for each."""
    folder = tmp_path_factory.mktemp("promises")
    (folder / "mine.py").write_text("def model_fn(): ...\ndef dataset_fn(): ...\n")

    @cache
    def search(engine: str, *options: str) -> Told:
        out = folder / engine
        asked = ("--engine", f"promised:{engine}", "--space", "quick", "--out", out, *options)
        asked = (*asked, "--verbose")  # so that the table is printed
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "200")
            done = run("tune", "mine.py:model_fn", "mine.py:dataset_fn", *asked, folder=folder)
        assert done.returncode == 0, done.stderr
        lines = (out / "trials.jsonl").read_text("utf-8").splitlines()
        result = json.loads((out / "result.json").read_text("utf-8"))
        return Told(done.stdout, done.stderr, result, [*map(json.loads, lines)])

    return search


@pytest.fixture
def flat(search: Search) -> Told:
    return search("flat", "--objective", "max_throughput", "--budget", "60s")


def ratio(line: str) -> float:
    found = RATIO.search(line)
    assert found, line
    return float(found[0])


def entries(value: Any) -> Iterator[dict[str, Any]]:
    """Yield what a result says of each configuration, wherever it stands."""
    if isinstance(value, dict):
        if {"configuration", "examples_per_second", "runs"} <= value.keys():
            yield value
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from entries(each)


def test_seconds_are_told_once_the_first_call_was_timed(search: Search) -> None:
    """What a trial is said to take, before any, is about what trials take then."""
    told = search("slow", "--objective", "max_throughput", "--budget", "200s")
    before, _, _ = told.progress.partition(" measured ")
    said = re.findall(r"about (\d+(?:\.\d+)?) ?(s|min|h)\b[^.;]*\beach", before)
    took = median(trial["wall_seconds"] for trial in told.trials if trial["outcome"] == "measured")
    for figure, unit in said:
        assert took / 3 < float(figure) * UNITS[unit] < 3 * took


def test_every_ratio_is_to_the_own_settings(flat: Told) -> None:
    """In the table of the answer, and in the lines of the search, whose base never changes."""
    own = [line for line in flat.table if "your own" in line]
    assert own
    assert all(ratio(line) == 1.0 for line in own)
    runs = re.findall(r" measured +([\d,]+) +(\d+\.\d+) ", flat.progress)
    bases = [float(rate.replace(",", "")) / float(share) for rate, share in runs]
    assert max(bases, default=1.0) < 1.03 * min(bases, default=1.0)


def test_what_a_sentence_calls_best_is_the_best_of_the_table(flat: Told) -> None:
    """A gain in the sentences is that of the first distributed row, by the base of the table."""
    several = [ratio(line) for line in flat.table if "one device" not in line]
    own = [ratio(line) for line in flat.table if "your own" in line]
    assert own == [1.0]
    assert several[0] == max(several)
    sentences, _, _ = flat.answer.partition(flat.table[0])
    if "best distributed" in sentences:
        assert f"{several[0]:.2f}" in sentences


def test_examples_per_second_are_the_median_of_own_runs(flat: Told) -> None:
    """With their number, in each entry and of what is recommended."""
    found = [*entries(flat.result)]
    assert found
    for entry in found:
        rates = flat.rates(entry["configuration"])
        if rates:
            assert entry["runs"] == len(rates)
            assert entry["examples_per_second"]["value"] == pytest.approx(median(rates), rel=0.01)
    chosen = flat.rates(flat.result["configuration"])
    assert flat.result["examples_per_second"]["value"] == pytest.approx(median(chosen), rel=0.01)


def test_a_row_above_the_recommended_one_says_why_it_is_not_taken(search: Search) -> None:
    """The table is in the order of one criterion, by which it is recommended."""
    told = search("learning", "--objective", "time_to_loss", "--budget", "90s")
    ratios = [ratio(line) for line in told.table]
    assert ratios == sorted(ratios, reverse=True)
    chosen = next(n for n, line in enumerate(told.table) if line.startswith("recommended"))
    for line in told.table[:chosen]:
        assert WHY.search(line), line


def test_own_settings_stay_unless_a_change_is_likely_faster(flat: Told) -> None:
    """Likely is a standard error above them at least; where a gain is told, so is its interval."""
    gain, own = flat.result["gain_over_yours"], flat.trials[0]["configuration"]
    if flat.result["configuration"] != own:
        error = math.log(gain["high"] / gain["low"]) / 3.92
        assert math.log(gain["value"]) > error
    assert not re.findall(r"\d\.\d\d times(?! \()", flat.answer)
