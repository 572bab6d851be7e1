"""The page of a result in a real browser, from a file, as somebody opens what they were sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from autotune import Outcome
from autotune.config import Configuration
from autotune.reason import Message
from autotune.result import Result
from autotune.testing import FakeEngine
from autotune.testing.fake import Ending, fake_learning

from .browsing import (
    DRAWN,
    FAINT,
    PHONE,
    Open,
    first_screen,
    found_on,
    looks_right,
    opening,
    speed,
    unfold,
)

SHAPES = ".mark circle, .mark path, line.one, line.reach"
"""What is drawn against the scale."""
LONG = "the <b>model</b> & its activations passed the ceiling of 2 GiB: " + "word" * 60


def too_large(configuration: Configuration) -> Ending | None:
    if configuration.per_replica_batch < 512:
        return None
    return Ending(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text=LONG))


@pytest.fixture(scope="module")
def result() -> Result:
    """What a search found in which trials ended in many ways, with every part of its page."""
    engine = FakeEngine(
        lambda each: too_large(each) or speed(each),
        held=lambda each: too_large(each) or speed(each) * 1.4,
        between=0.02,
        learning=fake_learning(500.0),
    )
    found = found_on(engine, trials=80)
    assert found.diagnosis
    return found


@pytest.fixture(scope="module")
def address(result: Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("my results")
    return (result.save(folder) / "report.html").as_uri()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Open]:
    """Opens the page, which may ask nothing of a network."""
    with opening(browser, address) as blank:

        def open_it(**options: object) -> Page:
            page = blank(**options)
            page.goto(address)
            return page

        yield open_it


def test_it_fits_the_screen_and_can_be_read(opened: Open) -> None:
    """On a desk and on a phone, by day and by night, the answers and the plot at first sight."""
    page = opened()
    assert first_screen(page) == []
    unfold(page)
    looks_right(page, "report")
    page.set_viewport_size(PHONE)
    assert page.evaluate(CUT_OFF) == []


def test_a_drawing_says_what_its_table_says(opened: Open) -> None:
    """A faster configuration stands to the right of a slower one, one device on its line."""
    page = opened()
    rows = page.locator("section", has=page.locator("#throughput")).locator("tbody").first
    drawn = rows.locator("svg.mark").evaluate_all(CENTRES)
    shown = [
        float(each.split()[0]) for each in rows.locator("td.number:nth-child(3)").all_inner_texts()
    ]
    assert len(drawn) == len(shown) > 1
    assert [place for _, place in sorted(zip(shown, drawn, strict=True))] == sorted(drawn)
    line = rows.locator("line.one").first.evaluate("(each) => each.getBoundingClientRect().x")
    assert drawn[shown.index(1.0)] == pytest.approx(line, abs=1)


def test_bars_and_tables_are_told_to_those_who_listen(opened: Open) -> None:
    """The tables on a phone, too."""
    page = opened()
    bars = page.get_by_role("img").and_(page.locator("svg.bar"))
    assert bars.count() == 2
    assert "computing" in (bars.first.get_attribute("aria-label") or "")
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    page.set_viewport_size(PHONE)
    table = page.get_by_role("table", name="Compared with your own settings")
    assert table.get_by_role("row").count() > 5
    assert table.get_by_role("rowheader").count() > 3


def test_the_program_is_copied_as_it_is(opened: Open, result: Result) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy train.py").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == result.script
    still = opened(java_script_enabled=False)
    assert still.locator("pre").first.inner_text().strip() == result.script.strip()
    expect(still.locator("button:visible")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_whoever_has_colours_of_their_own_sees_what_is_drawn(opened: Open, scheme: str) -> None:
    """Points, lines and words take those colours; the parts of a step are set apart by them."""
    page = opened()
    page.emulate_media(color_scheme=scheme, forced_colors="active")
    assert page.evaluate(DRAWN, SHAPES) == []
    assert page.evaluate(FAINT) == []
    edges = "(parts) => parts.map((each) => getComputedStyle(each).stroke)"
    text = page.evaluate("getComputedStyle(document.body).color")
    assert set(page.locator("rect.part").evaluate_all(edges)) == {text}
    page.emulate_media(forced_colors="none")
    assert page.evaluate(DRAWN, SHAPES) != []


def test_it_can_be_printed(opened: Open) -> None:
    page = opened(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(FAINT) == []
    expect(page.locator("button:visible")).to_have_count(0)
    hidden = "(each) => each.scrollHeight - each.clientHeight"
    assert page.locator(".program[open] pre").evaluate(hidden) <= 1
    assert page.pdf(format="A4").startswith(b"%PDF")


CENTRES = """(marks) => marks.map((each) => {
  const {x, width} = each.getBoundingClientRect();
  return x + width / 2;
})"""

CUT_OFF = """() => [...document.querySelectorAll("svg text")]
  .map((each) => each.getBoundingClientRect())
  .filter(({left, right}) => left < 0 || right > document.documentElement.clientWidth)
  .map(({left, right}) => `${left} to ${right}`)"""
"""Finds letters of a drawing outside the window."""
