"""The service for a browser, and what the tests of its page do and look at in common."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from autotune import Result, SearchOptions, autotune
from autotune.config import Configuration
from tests.engines.fake import FakeEngine

DIGITS = Path(__file__).parents[2] / "examples" / "digits.py"
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SIZES = (
    {"width": 1440, "height": 900},
    LAPTOP,
    {"width": 640, "height": 400},  # The same at 200 %.
    PHONE,
    {"width": 360, "height": 640},
)
DRAWN = Path(__file__).with_name("drawn.js").read_text(encoding="utf-8")
"""A script that finds what is not drawn in the colours of a reader who has their own."""
FAINT = Path(__file__).with_name("faint.js").read_text(encoding="utf-8")
"""A script that finds text which can hardly be read."""
BROKEN = Path(__file__).with_name("broken.js").read_text(encoding="utf-8")
"""A script that finds what is laid out wrongly."""
PICTURES = os.environ.get("AUTOTUNE_PICTURES")
"""A folder for pictures of all pages, for people to look at."""
LASTING = "64"
"""Filters of a job that runs until it is cancelled."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""What axe looks at: WCAG 2.2 up to level AA, and what its makers recommend beyond."""
EXPECTED = "the server responded with a status of 4"
"""What is answered with an error on purpose is noted by the browser, too."""
Open = Callable[..., Page]


def speed(configuration: Configuration) -> float:
    gain = {"mirrored": 1.6, "multi_worker_mirrored": 0.3}.get(configuration.strategy, 1.0)
    return 1000.0 * configuration.per_replica_batch**0.5 * gain


def found_on(engine: FakeEngine, trials: int) -> Result:
    factories = f"{DIGITS}:model_fn", f"{DIGITS}:dataset_fn"
    options = SearchOptions(budget=None, max_trials=trials)
    return autotune(*factories, space="cpu", options=options, engine=engine)


@contextmanager
def opening(browser: Browser, host: str = "", **settings: object) -> Iterator[Open]:
    """Give what opens blank pages; at the end none may have complained of an error.

    Where a host is named, no other may have been asked, nor anything else been noted.
    """
    complaints: list[str] = []

    def note(said: ConsoleMessage) -> None:
        if host or (said.type == "error" and EXPECTED not in said.text):
            complaints.append(said.text)

    with ExitStack() as stack:

        def opened(**options: object) -> Page:
            context = browser.new_context(**{"viewport": LAPTOP, **settings, **options})
            stack.callback(context.close)
            page = context.new_page()
            page.on("console", note)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda asked: host in asked.url or complaints.append(asked.url))
            return page

        yield opened
    assert not complaints, complaints


def first_screen(page: Page) -> list[str]:
    """Return which of the answers and the plot's first rows are not within the first screen."""
    found = []
    for size in (LAPTOP, PHONE):
        page.set_viewport_size(size)
        rows = page.locator("table.plot").first.locator(".strip .part")
        wanted = {
            "answer": page.locator("h1, .summary-line").last,
            "gain": page.locator(".numbers .main dd"),
            "settings": page.locator(".recommended"),
            "plot": rows.nth(0 if size["width"] == 390 else 1),
        }
        if size["width"] == 390 and page.locator("header.top").count():
            del wanted["plot"]  # Below the service's header a long headline leaves no room for it.
        for name, place in wanted.items():
            box = place.bounding_box()
            if box is None or box["y"] + box["height"] > size["height"]:
                found.append(f"{size['width']}: {name} at {box}")
    return found


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


ASK = """asked => fetch("/v1/tunings", {
  method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(asked),
}).then((answer) => answer.json())"""


def start(page: Page, trials: str = "14", filters: str = "48") -> None:
    """Ask for a job as the page's reader, and open it."""
    asked = {"workload": "digits", "params": {"filters": int(filters)}, "max_trials": int(trials)}
    made = page.evaluate(ASK, {**asked, "budget": "2min", "space": "cpu"})
    page.goto(f"/tunings/{made['id']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("digits")


def looks_right(page: Page, name: str) -> None:
    found = []
    # By night colours change, and nothing else.
    looks = [("light", size) for size in SIZES]
    looks += [("dark", size) for size in (SIZES if PICTURES else (LAPTOP,))]
    for scheme, size in looks:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        broken = page.evaluate(BROKEN) if scheme == "light" else []
        wrong = [*broken, *page.evaluate(FAINT)]
        found += [f"{size['width']}, {scheme}: {each}" for each in wrong]
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}-{size['width']}-{scheme}.png", full_page=True)
    page.set_viewport_size(LAPTOP)
    page.emulate_media(color_scheme="light")
    assert found == [], (name, found)


def violations(page: Page) -> list[str]:
    """Return what keeps people out who do not see or point."""
    found = []
    for scheme, rules in (("light", RULES), ("dark", ["color-contrast"])):
        page.emulate_media(color_scheme=scheme)
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        for each in Axe().run(page, options=options).response["violations"]:
            places = [node["html"][:80] for node in each["nodes"]]
            found.append(f"{scheme}: {each['id']}: {each['help']}: {places}")
    return found


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
