"""A service with an engine that takes no time, and pages of it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.service import Serving, running

from .browsing import Open, opening, sign_in, start

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="package")  # Playwright's event loop would be in the way of other tests.
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed here: `apt-get install chromium` brings it")
    expect.set_options(timeout=60_000)  # Milliseconds: the machine may be slow.
    options = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("page project")
    shutil.copytree(EXAMPLES, folder / "examples")
    with running(folder, engine="serving:mixed") as serving:
        yield serving


@pytest.fixture
def blank(browser: Browser, service: Serving) -> Iterator[Open]:
    shown = {"locale": "en-GB", "permissions": ["clipboard-read", "clipboard-write"]}
    with opening(browser, base_url=service.url, **shown) as opened:
        yield opened


@pytest.fixture
def signed_in(blank: Open, service: Serving) -> Open:
    def opened(path: str = "/", **options: object) -> Page:
        page = blank(**options)
        page.goto(path)
        sign_in(page, service.key)
        return page

    return opened


@pytest.fixture(scope="package")
def done(browser: Browser, service: Serving) -> str:
    with opening(browser, base_url=service.url) as opened:
        page = opened()
        page.goto("/")
        sign_in(page, service.key)
        start(page)
        expect(page.locator(".badge.done")).to_be_visible()
        return page.url.removeprefix(service.url)
