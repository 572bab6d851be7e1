"""The page for everybody: by keyboard, heard instead of seen, in any light, at rest, on paper."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from .browsing import LASTING, Open, start, violations

STOPS = 60
"""Nothing on a page is farther away by the keyboard."""


@pytest.fixture
def running_job(signed_in: Open) -> Iterator[Page]:
    page = signed_in()
    start(page, trials="500", filters=LASTING)
    expect(page.locator("table.plot .strip .part").first).to_be_attached()
    yield page
    if page.locator("#cancel").count():
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".badge.cancelled")).to_be_visible()


def test_a_job_that_runs_keeps_nobody_out(running_job: Page) -> None:
    """It stands still for who wants that; who stands on what is gone stands on the content."""
    moves = "document.getAnimations().filter((each) => each.playState === 'running').length"
    for wish, moving in (("reduce", 0), ("no-preference", 1)):
        running_job.emulate_media(reduced_motion=wish)
        assert running_job.evaluate(moves) == moving
    assert violations(running_job) == []
    running_job.get_by_role("button", name="Cancel", exact=True).click()
    expect(running_job.get_by_role("dialog")).to_be_visible()
    assert violations(running_job) == []
    running_job.keyboard.press("Escape")
    expect(running_job.get_by_role("dialog")).to_have_count(0)
    running_job.locator("#cancel").focus()
    running_job.evaluate(
        "fetch(location.pathname, {method: 'POST', redirect: 'manual', keepalive: true})"
    )
    expect(running_job.locator("#cancel")).to_have_count(0)
    expect(running_job.locator("#main")).to_be_focused()


def reach(page: Page, wanted: Locator) -> None:
    """Go on by the tabulator until something is reached, always seeing where one is."""
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        here = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert here != "none", page.evaluate("document.activeElement.outerHTML")
        if wanted.evaluate("each => each === document.activeElement"):
            return
    pytest.fail(f"{wanted} is not reached")


def test_a_job_is_found_and_cancelled_by_the_keyboard_alone(signed_in: Open) -> None:
    page = signed_in()
    start(page, trials="500", filters=LASTING)
    page.goto("/")
    reach(page, page.locator("a.job").first)
    page.keyboard.press("Enter")
    expect(page.locator(".badge.running")).to_be_visible()
    expect(page.get_by_text(f"filters={LASTING}")).to_be_visible()
    button = page.get_by_role("button", name="Cancel", exact=True)
    reach(page, button)
    page.keyboard.press("Enter")
    for way_out in ("Enter", "Escape"):
        expect(page.get_by_role("button", name="Keep it running")).to_be_focused()
        page.keyboard.press(way_out)
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(button).to_be_focused()
        expect(page.locator(".badge.running")).to_be_visible()
        page.keyboard.press("Enter")
    reach(page, page.get_by_role("button", name="Cancel the job"))
    page.keyboard.press("Enter")
    expect(page.locator(".badge.cancelled")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_paper_holds_what_is_to_be_read(signed_in: Open, done: str) -> None:
    page = signed_in(done, color_scheme="dark")
    page.goto(done)
    page.emulate_media(media="print")
    for each in page.locator("button, .downloads, .top, .crumbs").all():
        expect(each).not_to_be_visible()
    expect(page.locator(".history li").first).to_be_visible()
    program = page.locator(".program pre").first
    assert program.evaluate("each => each.scrollHeight <= each.clientHeight + 1")
    colours = page.evaluate(
        "[document.body, document.querySelector('pre')].map((each) =>"
        " [getComputedStyle(each).color, getComputedStyle(each).backgroundColor])"
    )
    assert colours == [["rgb(0, 0, 0)", "rgb(255, 255, 255)"]] * 2
