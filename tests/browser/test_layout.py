"""Every page of the service as it is laid out: on a desk and on a phone, by day and by night."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service import Serving

from .browsing import (
    LASTING,
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
    "list-by-workload": "/?workload=digits",
    "list-odd": "/?odd=1",
    "workers": "/workers",
    "sign-in": "/sign-in",
    "nowhere": f"/tunings/{'0' * 24}",
}
FAILING = "63"
"""Filters of a job that fails."""


@pytest.fixture(scope="module")
def page(browser: Browser, service: Serving) -> Iterator[Page]:
    with opening(browser, base_url=service.url, locale="en-GB") as opened:
        page = opened()
        page.goto("/")
        sign_in(page, service.key)
        yield page


@pytest.fixture(scope="module")
def jobs(page: Page, done: str) -> dict[str, str]:
    found = {"done": done}
    for name, fields in {
        "failed": {"filters": FAILING},
        "cancelled": {"trials": "500", "filters": LASTING},
    }.items():
        page.goto("/")
        start(page, **fields)
        if name == "cancelled":
            expect(page.locator("table.plot .strip .part").first).to_be_attached()
            page.get_by_role("button", name="Cancel", exact=True).click()
            page.get_by_role("button", name="Cancel the job").click()
        expect(page.locator(f".badge.{name}")).to_be_visible()
        found[name] = page.url
    return found


@pytest.mark.parametrize("name", [*PAGES, "done", "failed", "cancelled"])
def test_a_page_is_laid_out(page: Page, jobs: dict[str, str], name: str) -> None:
    """No scrolling sideways, no field as high as a drawing, no text cut off, no broken word."""
    page.goto({**PAGES, **jobs}[name])
    unfold(page)
    looks_right(page, name)
    assert violations(page) == []


def test_the_first_screen_of_a_job_holds_the_answers_and_the_plot(page: Page, done: str) -> None:
    page.goto(done)
    assert first_screen(page) == []
