"""The page in a real browser, of the installed service on an engine that takes no time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

HERE = Path(__file__).parent
LAPTOP = {"width": 1280, "height": 800}
SIZES = (
    LAPTOP,
    {"width": 640, "height": 400},  # The same at 200 %.
    {"width": 390, "height": 844},
    {"width": 360, "height": 640},
)
LONG = 60_000
"""Milliseconds that a search may take on a slow machine."""
PICTURES = os.environ.get("AUTOTUNE_PICTURES")
"""A folder for pictures of all pages, for people to look at."""


@dataclass(frozen=True)
class Served:
    """A service that runs."""

    address: str
    key: str


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed here: `apt-get install chromium` brings it")
    options = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@contextmanager
def running(command: Path, project: Path, *options: str) -> Iterator[Served]:
    """Give a service at its first start."""
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "AUTOTUNE_SERVICE_ENGINE": "serving:mixed",
        "AUTOTUNE_SERVICE_PATIENCE": '{"idle": 0.1, "look": 0.1}',
        "AUTOTUNE_SERVICE_WEB": '{"look": 0.1}',
    }
    process = subprocess.Popen(
        [command, "serve", "--port", "0", *options],
        cwd=project,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        address = process.stdout.readline().split()[-1]
        key = "" if "--no-keys" in options else process.stdout.readline().split()[-1]
        yield Served(address, key)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def service(command: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of this module's own."""
    folder = tmp_path_factory.mktemp("page project")
    shutil.copytree(HERE.parents[1] / "examples", folder / "examples")
    with running(command, folder) as served:
        yield served


Open = Callable[..., Page]


@pytest.fixture
def blank(browser: Browser, service: Served) -> Iterator[Open]:
    """Opens pages that nobody is signed in with; at the end none of them may have complained."""
    complaints: list[str] = []
    contexts = []

    def opened(**options: object) -> Page:
        settings = {"viewport": LAPTOP, "locale": "en-GB", "base_url": service.address, **options}
        context = browser.new_context(**settings)  # type: ignore[arg-type]
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield opened
    for each in contexts:
        each.close()
    # What is answered with an error on purpose is noted by the browser, too.
    assert [
        each for each in complaints if "the server responded with a status of 4" not in each
    ] == []


@pytest.fixture
def signed_in(blank: Open, service: Served) -> Open:
    """Opens pages that are signed in."""

    def opened(path: str = "/", **options: object) -> Page:
        page = blank(**options)
        page.goto(path)
        page.get_by_label("API key").fill(service.key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        return page

    return opened


def start(page: Page, trials: str = "14", space: str = "cpu") -> None:
    """Fill in the form and send it."""
    page.get_by_role("radio", name="digits").check()
    page.get_by_label("filters").fill("48")
    page.get_by_label("Budget").fill("2min")
    page.get_by_label("Search space").select_option(space)
    page.get_by_text("Limits and constraints").click()
    page.get_by_label("Most trials").fill(trials)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("digits")


@pytest.fixture(scope="module")
def done(browser: Browser, service: Served) -> str:
    """The path of a job that is done."""
    context = browser.new_context(base_url=service.address, extra_http_headers={})
    page = context.new_page()
    page.goto("/")
    page.get_by_label("API key").fill(service.key)
    page.get_by_role("button", name="Sign in").click()
    start(page)
    expect(page.locator(".badge.done")).to_be_visible(timeout=LONG)
    path = page.url.removeprefix(service.address)
    context.close()
    return path


def test_the_key_is_asked_for_and_forgotten(blank: Open, service: Served) -> None:
    """A wrong one is refused in words; signing out leads back."""
    page = blank()
    page.goto("/?state=done")
    page.get_by_label("API key").fill("autotune_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The API key is not valid.")
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
    """Without a reload: points, phase and at last the verdict come by themselves."""
    page = signed_in()
    looks_right(page, "empty")
    start(page)
    page.evaluate("window.same = true")
    points = page.locator("svg.chart.wide .mark")
    expect(points.nth(2)).to_be_visible(timeout=LONG)
    expect(page.locator(".phase")).to_contain_text("one device")
    looks_right(page, "running")
    expect(page.locator(".badge.done")).to_be_visible(timeout=LONG)
    expect(page.locator(".summary-line")).not_to_be_empty()
    expect(page.get_by_role("heading", name="train.py")).to_be_visible()
    assert page.evaluate("window.same"), "the page was loaded anew"
    assert points.count() == page.locator("table.trials tbody tr:not(.group)").count() > 3
    page.goto("/")
    expect(page.locator("a.job").first).to_contain_text("done")


def test_the_view_is_the_same_without_javascript(signed_in: Open, done: str) -> None:
    """What the script adds is convenience."""
    page = signed_in(done, java_script_enabled=False)
    expect(page.locator(".summary-line")).not_to_be_empty()
    assert page.locator("svg.chart.wide .mark").count() > 3
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page.goto("/")
    page.get_by_role("radio", name="lstm").check()
    expect(page.get_by_label("units").first).to_be_visible()
    expect(page.get_by_label("filters")).not_to_be_visible()


def test_the_program_is_copied_as_it_is(signed_in: Open, done: str) -> None:
    """To the last byte."""
    page = signed_in(done)
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="train.py").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert page.evaluate("navigator.clipboard.readText()") == text


def test_a_job_is_cancelled(signed_in: Open) -> None:
    """After a question; it ends within seconds, and the page shows it."""
    page = signed_in()
    start(page, trials="500", space="cpu")
    expect(page.locator("svg.chart.wide .mark").first).to_be_visible(timeout=LONG)
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".badge.cancelled")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_what_is_wrong_with_the_form_is_shown_at_its_field(signed_in: Open) -> None:
    """What was typed is kept, and the reader is led to it."""
    page = signed_in()
    page.get_by_role("radio", name="digits").check()
    page.get_by_label("filters").fill("9999")
    page.get_by_label("Budget").fill("soon")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_be_focused()
    for field, value in (("filters", "9999"), ("Budget", "soon")):
        expect(page.get_by_label(field)).to_have_value(value)
        expect(page.get_by_label(field)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("filters")).to_have_accessible_description(re.compile("less than"))
    looks_right(page, "form-error")


def test_every_page_fits_the_screen_and_can_be_read(signed_in: Open, done: str) -> None:
    """On a desk, with letters twice as large, and on a phone; by day and by night."""
    page = signed_in()
    for name, path in (("list", "/"), ("done", done), ("odd", "/?odd=1"), ("sign-in", "/sign-in")):
        page.goto(path)
        looks_right(page, name)


def test_the_keyboard_reaches_everything_and_shows_where_it_is(signed_in: Open) -> None:
    """The first stop is the content."""
    page = signed_in()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    for _ in range(8):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none", page.evaluate("document.activeElement.outerHTML")


def test_without_keys_there_is_no_sign_in(browser: Browser, command: Path, tmp_path: Path) -> None:
    """The list is there at once."""
    with running(command, tmp_path, "--no-keys") as served:
        context = browser.new_context(base_url=served.address)
        page = context.new_page()
        page.goto("/")
        expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
        context.close()


def looks_right(page: Page, name: str) -> None:
    """Nobody has to scroll sideways or to guess a word; pictures are kept where they are wanted."""
    for scheme, size in product(("light", "dark"), SIZES):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)
        wide, room = page.evaluate(
            "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.documentElement)"
        )
        assert wide <= room, (name, size)
        assert page.evaluate(FAINT) == [], (name, scheme)
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}-{size['width']}-{scheme}.png", full_page=True)
    page.set_viewport_size(LAPTOP)  # type: ignore[arg-type]
    page.emulate_media(color_scheme="light")


FAINT = """() => {
  const numbers = (colour) => (colour.match(/[0-9.]+/g) || []).map(Number);
  const light = (rgb) => rgb.slice(0, 3)
    .map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const text = numbers(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(text), light(behind(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${element.outerHTML.slice(0, 90)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""
"""Finds text whose contrast with what is behind it is below 4.5 to 1, as WCAG's AA asks."""
