"""Charts, the table of trials and searches compared, in the pages of `autotune ui`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from autotune.testing import FakeEngine

from .browsing import (
    Open,
    first_screen,
    found_on,
    looks_right,
    opening,
    showing,
    speed,
    unfold,
    violations,
)

PRINTED = "Epoch 1/1: <b>loss 0.5</b>"
SHAPES = {"best": "circle", "timeline": "rect", "parallel": "path"}
"""What each chart is made of."""


@pytest.fixture(scope="module")
def address(command: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("my results")
    for name, trials in (("long", 24), ("short", 8)):
        found = found_on(FakeEngine(speed), trials)
        found.save(folder / name)
        printed = folder / name / "trials" / found.study / "0000"
        printed.mkdir(parents=True)
        (printed / "output-0.txt").write_text(PRINTED, "utf-8")
    with showing(command, folder) as shown:
        yield shown


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Open]:
    """Opens the list, or a search of it."""
    with opening(browser, address, locale="en-GB", base_url=address) as blank:

        def open_it(name: str = "") -> Page:
            page = blank()
            page.goto("/")
            if name:
                page.locator("a.job", has_text=f"/{name}").click()
                expect(page.locator("[data-chart=best] svg")).to_be_visible()
                unfold(page)
            return page

        yield open_it


def test_a_search_is_laid_out_with_its_charts(opened: Open) -> None:
    page = opened("long")
    for name, shape in SHAPES.items():
        chart = page.locator(f"[data-chart={name}] svg")
        expect(chart).to_have_attribute("role", "img")
        assert chart.locator(shape).count() >= 20, name
    assert violations(page) == []
    looks_right(page, "ui-search")
    assert first_screen(page) == []


def test_a_chart_is_pointed_at_and_the_table_sorted_and_filtered(opened: Open) -> None:
    page = opened("long")
    points = page.locator("[data-chart=best] circle")
    points.first.hover()
    expect(page.locator("[data-chart=best] svg")).to_contain_text(re.compile(r"Trial \d+ "))
    rows = page.locator("table.runs tbody tr")
    page.get_by_role("button", name="Seconds").click()
    page.get_by_role("button", name=re.compile("^Trial")).click()
    page.get_by_role("button", name=re.compile("^Trial")).click()
    numbers = [int(each) for each in rows.locator("td:first-child").all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True)
    expect(page.get_by_role("columnheader", name=re.compile("^Trial"))).to_have_attribute(
        "aria-sort", "descending"
    )
    every = points.count()
    page.get_by_label("Only trials with").fill("Mirrored x2")
    shown = rows.locator("visible=true")
    assert 0 < shown.count() < rows.count()
    assert all("Mirrored x2" in each for each in shown.all_inner_texts())
    assert 0 < points.count() < every


def test_what_a_trial_printed_opens(opened: Open) -> None:
    page = opened("short")
    page.get_by_role("link", name="What trial 0 printed").click()
    expect(page.get_by_role("dialog")).to_contain_text(PRINTED)
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_searches_are_listed_and_compared(opened: Open) -> None:
    page = opened()
    assert violations(page) == []
    looks_right(page, "ui-list")
    for each in page.get_by_role("checkbox").all():
        each.check()
    page.get_by_role("button", name="Compare the selected").click()
    chart = page.locator("[data-chart=best] svg")
    expect(chart).to_be_visible()
    strokes = chart.locator("path[stroke-width], g[stroke-width] path").evaluate_all(
        "(each) => each.map((one) => getComputedStyle(one).stroke)"
    )
    assert len(set(strokes)) == 2
    expect(page.get_by_role("row")).to_have_count(3)
    assert violations(page) == []
    looks_right(page, "ui-compare")
