"""The page of the webhooks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from autotune.api.roles import Role, Scope
from autotune.api.store.auth import NewKey
from autotune.api.store.database import Database
from autotune.api.store.members import Members

HOOK = "https://ci.example.org/<script>alert('1')</script>?a&b"
FORM = {"url": HOOK, "events": ["job.done", "job.failed"]}
Client = Callable[..., TestClient]


def hooks(client: TestClient) -> list[dict[str, Any]]:
    """Return the webhooks that a caller sees."""
    found: list[dict[str, Any]] = client.get("/v1/webhooks").json()["webhooks"]
    return found


def test_a_webhook_is_added_and_its_secret_shown_once(browser: TestClient) -> None:
    """What it is called stays text, and the list of jobs leads to the page."""
    assert 'href="/webhooks"' in browser.get("/").text
    answer = browser.post("/webhooks", data=FORM)
    assert answer.status_code == 201
    assert re.search(r"whsec_[\w+/=]{40}", answer.text)
    page = browser.get("/webhooks").text
    assert "whsec_" not in page
    for each in (answer.text, page):
        assert "<script>alert" not in each
        assert "&lt;script&gt;alert" in each
    assert [(each["url"], each["events"]) for each in hooks(browser)] == [(HOOK, FORM["events"])]


def test_the_last_deliveries_are_shown(
    browser: TestClient, made: NewKey, text: Callable[[str], str]
) -> None:
    """With what came of them; what is still to come is looked at again."""
    browser.post("/webhooks", data=FORM)
    (hook,) = hooks(browser)
    assert "It was told nothing in the last week." in browser.get("/webhooks").text
    back = browser.post(f"/webhooks/{hook['id']}/test", follow_redirects=False)
    assert (back.status_code, back.headers["location"]) == (
        303,
        f"/webhooks?project={made.key.project}",
    )
    page = browser.get("/webhooks").text
    assert "test pending 0" in text(page)
    assert "data-poll" in page


def test_a_webhook_is_removed(browser: TestClient) -> None:
    """And the page shown again."""
    browser.post("/webhooks", data=FORM)
    (hook,) = hooks(browser)
    page = browser.post(f"/webhooks/{hook['id']}/remove").text
    assert "Nobody is told when jobs of this project end." in page
    assert hooks(browser) == []


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({**FORM, "url": "javascript:alert(1)"}, "url: String should match"),
        ({**FORM, "url": "https://169.254.169.254/latest"}, "private address"),
        ({**FORM, "url": ""}, "url: String should match"),
        ({"url": HOOK}, "events: "),
        ({"url": HOOK, "events": "job.started"}, "events.0: "),
    ],
)
def test_what_is_refused_is_told_at_the_field(
    browser: TestClient, form: dict[str, Any], told: str
) -> None:
    """Nothing is added, and what was typed is still there."""
    answer = browser.post("/webhooks", data=form)
    assert answer.status_code == 422
    assert told in answer.text
    assert hooks(browser) == []


def test_no_other_site_adds_or_removes_a_webhook(browser: TestClient) -> None:
    """As with every form of the page."""
    browser.post("/webhooks", data=FORM)
    (hook,) = hooks(browser)
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for path in ("", f"/{hook['id']}/remove", f"/{hook['id']}/test"):
        answer = browser.post(f"/webhooks{path}", data=FORM, headers=foreign)
        assert answer.status_code == 403, answer.text
    assert browser.get(f"/webhooks/{hook['id']}/remove").status_code == 405
    assert hooks(browser) == [hook]


def test_another_project_s_webhooks_are_out_of_reach(
    browser: TestClient, client_with: Client
) -> None:
    """By its name as by the webhook's id."""
    other = client_with(Scope.READ, Scope.WRITE, project="other")
    made = other.post("/v1/webhooks", json={"url": "https://other.example.org/t0ken"}).json()
    for project in ("other", "nobody"):
        answer = browser.get("/webhooks", params={"project": project})
        assert answer.status_code == 404
        assert "t0ken" not in answer.text
        assert browser.post("/webhooks", data={**FORM, "project": project}).status_code == 404
    for path in ("remove", "test"):
        assert browser.post(f"/webhooks/{made['id']}/{path}").status_code == 404
        assert browser.post(f"/webhooks/x/{path}").status_code == 404
    assert [each["id"] for each in hooks(other)] == [made["id"]]


def test_a_viewer_neither_sees_nor_adds_any(client_with: Client) -> None:
    """Nor is led there."""
    viewer = client_with(Scope.READ)
    assert "/webhooks" not in viewer.get("/").text
    assert viewer.get("/webhooks").status_code == 403
    assert viewer.post("/webhooks", data=FORM).status_code == 403


def test_a_viewer_of_a_further_project_sees_none_of_its(
    browser: TestClient, made: NewKey, database: Database
) -> None:
    """Only an editor or an administrator of it may, who then chooses among the two."""
    Members(database).add("vision", made.key.id, Role.VIEWER)
    assert browser.get("/webhooks", params={"project": "vision"}).status_code in {403, 404}
    assert "<select" not in browser.get("/webhooks").text
    Members(database).add("vision", made.key.id, Role.ADMIN)
    # A session that was just recognised is not looked up again for two seconds.
    browser.app.state.service.guard._trusted.clear()  # type: ignore[attr-defined]
    page = browser.get("/webhooks", params={"project": "vision"}).text
    assert "Webhooks of vision" in page
    assert '<option value="vision" selected>' in page
    browser.post("/webhooks", data={**FORM, "project": "vision"})
    assert [each["project"] for each in hooks(browser)] == ["vision"]
