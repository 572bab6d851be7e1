"""Every page of the service as it is laid out: on a desk and on a phone, by day and by night."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from .browsing import (
    BROKEN,
    LASTING,
    Open,
    Served,
    first_screen,
    looks_right,
    opening,
    sign_in,
    start,
    unfold,
    violations,
)

PAGES = {
    "list": "/",
    "list-by-label": "/?label=team:vision",
    "list-odd": "/?odd=1",
    "workers": "/workers",
    "sign-in": "/sign-in",
    "nowhere": f"/tunings/{'0' * 24}",
}
FAILING = "63"
"""Filters of a job that fails."""


@pytest.fixture(scope="module")
def page(browser: Browser, service: Served) -> Iterator[Page]:
    with opening(browser, base_url=service.address, locale="en-GB") as opened:
        page = opened()
        page.goto("/")
        sign_in(page, service.key)
        yield page


@pytest.fixture(scope="module")
def jobs(page: Page, done: str) -> dict[str, str]:
    found = {"done": done}
    for name, fields in {
        "failed": {"filters": FAILING},
        "undecided": {"trials": "3"},
        "cancelled": {"trials": "500", "filters": LASTING},
    }.items():
        page.goto("/")
        start(page, **fields)
        if name == "cancelled":
            expect(page.locator("table.plot .strip .mark").first).to_be_attached()
            page.get_by_role("button", name="Cancel", exact=True).click()
            page.get_by_role("button", name="Cancel the job").click()
        expect(page.locator(f".badge.{'done' if name == 'undecided' else name}")).to_be_visible()
        found[name] = page.url
    return found


def check(page: Page, address: str, name: str) -> None:
    """Look at a page with everything unfolded, as seen and as heard."""
    page.goto(address)
    unfold(page)
    for each in page.get_by_role("radio").all():
        each.check()
    looks_right(page, name)
    assert violations(page) == []


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_laid_out(page: Page, name: str) -> None:
    """No scrolling sideways, no field as high as a drawing, no text cut off, no broken word."""
    check(page, PAGES[name], name)


def test_the_first_screen_of_a_job_holds_the_answers_and_the_plot(page: Page, done: str) -> None:
    page.goto(done)
    assert first_screen(page) == []


@pytest.mark.parametrize("name", ["done", "failed", "undecided", "cancelled"])
def test_the_page_of_a_job_is_laid_out(page: Page, jobs: dict[str, str], name: str) -> None:
    check(page, jobs[name], f"job-{name}")


def test_what_is_laid_out_wrongly_is_found(signed_in: Open) -> None:
    page = signed_in()
    assert page.evaluate(BROKEN) == []
    page.evaluate(
        """() => {
          document.querySelector("#budget").parentElement.style.height = "320px";
          document.querySelector("#label").style.minWidth = "2000px";
          document.querySelector("#jobs-title").style.width = "1em";
          document.querySelector(".filters").style.cssText = "overflow: hidden; width: 9px";
        }"""
    )
    found = " ".join(page.evaluate(BROKEN))
    for each in ("too high", "is broken", "cut off", "the page is"):
        assert each in found
