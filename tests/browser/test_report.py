"""The page of a result in a real browser, from a file, as somebody opens what they were sent."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from autotune import Outcome
from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.reason import Message
from autotune.result import Result
from tests.engines.fake import FakeEngine, fake_learning

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

SHAPES = "line.one, line.reach"
"""The lines across the bars."""
LONG = "the <b>model</b> & its activations passed the ceiling of 2 GiB: " + "word" * 60


def too_large(configuration: Configuration) -> Stop | None:
    if configuration.per_replica_batch < 512:
        return None
    return Stop(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text=LONG))


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


def test_a_drawing_says_what_its_table_says(opened: Open) -> None:
    """A bar is as long as its figure, and the own settings' ends at the dashed line."""
    page = opened()
    rows = page.locator("section", has=page.locator("#throughput")).locator("tbody").first
    edges = "(drawn) => drawn.map((each) => each.getBoundingClientRect())"
    drawn = [each["width"] for each in rows.locator(".strip .part").evaluate_all(edges)]
    shown = [
        float(each.split()[0]) for each in rows.locator("td.number:nth-child(3)").all_inner_texts()
    ]
    assert len(drawn) == len(shown) > 1
    own = drawn[shown.index(1.0)]
    assert [each / own for each in drawn] == pytest.approx(shown, abs=0.02)
    line = rows.locator("line.one").first.evaluate("(each) => each.getBoundingClientRect().x")
    start = rows.locator(".strip .part").first.evaluate("(each) => each.getBoundingClientRect().x")
    assert line - start == pytest.approx(own, abs=1)


def test_tables_are_told_to_those_who_listen(opened: Open) -> None:
    """On a phone, too."""
    page = opened()
    steps = page.get_by_role("table", name="Where the time goes")
    assert "computing" in steps.inner_text()
    assert steps.locator("svg.bar").count() >= 2
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
    """Lines and words take those colours; bars are set apart by an edge of them."""
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
