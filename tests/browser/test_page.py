"""The page in a real browser, of the installed service on an engine that takes no time."""

import re
from itertools import pairwise

from playwright.sync_api import Page, expect

from tests.service import Serving

from .browsing import Open, looks_right, start, violations

LISTEN = """() => {
  window.said = [];
  const place = document.getElementById("news");
  new MutationObserver(() => window.said.push(place.textContent))
    .observe(place, {childList: true, characterData: true, subtree: true});
}"""


def test_the_key_is_asked_for_and_forgotten(blank: Open, service: Serving) -> None:
    page = blank()
    page.goto("/?state=done")
    assert violations(page) == []
    page.get_by_label("API key").fill("autotune_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Invalid API key.")
    assert violations(page) == []
    looks_right(page, "sign-in-wrong")
    page.get_by_label("API key").fill(service.key)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/\?state=done$"))
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/sign-in$"))
    page.goto("/")
    expect(page).to_have_url(re.compile("/sign-in$"))


def test_a_job_is_started_and_followed_to_its_verdict(signed_in: Open) -> None:
    page = signed_in()
    start(page)
    page.evaluate(LISTEN)
    expect(page.locator(".phase")).to_contain_text("one device")
    expect(page.locator("table.plot .strip .part").nth(2)).to_be_attached()
    looks_right(page, "running")
    expect(page.locator(".badge.done")).to_be_visible()
    expect(page.get_by_role("button", name="Copy train.py")).to_be_visible()
    phases_and_the_verdict_are_said(page)
    rows = page.locator("table.plot tbody tr")
    assert rows.filter(has=page.locator(".strip .part")).count() == rows.count() > 3
    page.goto("/")
    expect(page.locator("a.job").first).to_contain_text("done")


def phases_and_the_verdict_are_said(page: Page) -> None:
    """One polite sentence for each change of what the job does, and at last how it ended."""
    news = page.get_by_role("status").and_(page.locator("#news"))
    expect(news).to_have_count(1)
    shown = " ".join(page.locator(".summary-line, .more").all_inner_texts())
    summary = shown.replace("\N{NO-BREAK SPACE}", " ")
    expect(news).to_have_text(f"Done. {summary}")
    said = page.evaluate("window.said")
    assert said, "the page was loaded anew"
    assert all(one != other for one, other in pairwise(said)), said
    assert len(said) < page.locator("#every-trial tbody tr").count()
    assert said[-1] == f"Done. {summary}"
    assert not any(re.search(r"Trial \d", each) for each in said)
    page.wait_for_timeout(500)
    assert page.evaluate("window.said") == said, "it goes on talking"


def test_the_view_is_the_same_without_javascript(signed_in: Open, done: str) -> None:
    page = signed_in(done, java_script_enabled=False)
    expect(page.locator(".summary-line")).not_to_be_empty()
    assert page.locator("table.plot .strip .part").count() > 3
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page.goto("/")
    expect(page.locator("a.job").first).to_contain_text("done")


def test_the_report_opens_and_can_do_nothing_but_show_itself(signed_in: Open, done: str) -> None:
    """Its style and script work; whatever else would run in it does not, nor asks in our name."""
    page = signed_in(done)
    page.goto(done)
    summary = page.locator(".summary-line").inner_text()
    page.get_by_role("link", name="report.html").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(summary)
    assert page.locator("main").evaluate("each => getComputedStyle(each).maxWidth") == "960px"
    expect(page.get_by_role("button", name="Copy train.py")).to_be_visible()
    assert page.evaluate("self.origin") == "null"


def test_the_document_of_the_api_is_shown(blank: Open, service: Serving) -> None:
    page = blank()
    page.goto("/docs")
    page.get_by_role("button", name="Authorize").click()
    page.get_by_label("auth-bearer-value").fill(service.key)
    page.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="GET /v1/workloads").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text(
        "200"
    )
