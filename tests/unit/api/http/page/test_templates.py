"""What holds for every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from autotune.api.http.page import rendering
from autotune.api.values import Job
from autotune.result import html

FOLDER = Path(rendering.__file__).parent
SHARED = Path(html.__file__).parent / "templates"
TEMPLATES = [*sorted(FOLDER.glob("templates/*.html")), SHARED / "fragments.html"]
VENDORED = {"d3.min.js", "plot.umd.min.js", "VENDORED.txt"}
"""Files of others, unchanged, which name their projects."""
INLINE = re.compile(
    r"""<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe"""
    r"""|<script(?![^>]*\s(?:src=|type="application/json"))""",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_nothing_is_inline(path: Path) -> None:
    """No script, no handler, no style: the policy would refuse them; and nothing is unescaped."""
    assert not INLINE.search(path.read_text("utf-8"))


def test_nothing_comes_from_elsewhere() -> None:
    """No template, style or script names another host, but for the namespace of SVG."""
    assert len(TEMPLATES) >= 5
    own = [each for each in FOLDER.glob("static/*") if each.name not in VENDORED]
    for path in (*TEMPLATES, *own, SHARED / "style.css", SHARED / "script.js"):
        found = re.findall(
            r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"']*", path.read_text("utf-8")
        )
        assert set(found) <= {"http://www.w3.org/2000/svg"}, path


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/sign-in",
        "/workers",
        "/tunings/{}",
        "/compare?job={}",
        "/?state=odd",
        f"/tunings/{'0' * 24}",
    ],
)
def test_every_page_has_a_strict_policy_and_its_landmarks(
    client: TestClient, done: Job, path: str
) -> None:
    answer = client.get(path.format(done.id))
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "form-action 'self'" in policy
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    page = answer.text
    assert '<html lang="en">' in page
    assert page.count("<main ") == page.count("<header ") == page.count("<h1") == 1
    assert re.search("<title>[^<]+</title>", page)
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", ["/", "/sign-in", "/tunings/{}"])
def test_every_field_has_a_label(client: TestClient, done: Job, path: str) -> None:
    page = client.get(path.format(done.id)).text
    labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', page))
    fields = re.findall(r"(<label[^>]*>)?<(?:input|select) ([^>]*)>", page)
    for around, attributes in fields:
        name = re.search(r'\bid="([^"]+)"', attributes)
        hidden = 'type="hidden"' in attributes
        assert hidden or around or (name and name[1] in labelled), attributes
