"""What holds for every page."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from autotune.api.http.page import pages
from autotune.result import html
from autotune.wire.jobs import Job

SHARED = Path(html.__file__).parent / "templates" / "fragments.html"
TEMPLATES = [*sorted(Path(pages.__file__).parent.glob("templates/*.html")), SHARED]
INLINE = re.compile(
    r"""<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe"""
    r"""|<script(?![^>]*\s(?:src=|type="application/json"))""",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_nothing_is_inline(path: Path) -> None:
    """No script, no handler, no style: the policy would refuse them; and nothing is unescaped."""
    assert not INLINE.search(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/sign-in",
        "/workers",
        "/tunings/{}",
        "/?state=odd",
        f"/tunings/{'0' * 24}",
    ],
)
def test_every_page_has_a_strict_policy_and_one_heading(
    client: TestClient, done: Job, path: str
) -> None:
    answer = client.get(path.format(done.id))
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "form-action 'self'" in policy
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.count("<h1") == 1
    ids = re.findall(r'\sid="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids))
