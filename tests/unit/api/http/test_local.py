"""The pages over results on this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from autotune.answer import Ended
from autotune.api.http.local import Folders, create_app
from autotune.errors import ConfigurationError
from autotune.result import Result


@pytest.fixture
def folder(tmp_path: Path, recommendation: Result) -> Path:
    for name in ("one", "two"):
        recommendation.save(tmp_path / name)
    return tmp_path


@pytest.fixture
def client(folder: Path) -> TestClient:
    return TestClient(create_app(Folders([folder])), base_url="http://localhost")


def test_all_results_are_listed_and_shown(client: TestClient, folder: Path) -> None:
    listed = client.get("/").text
    assert "1.20\N{MULTIPLICATION SIGN} your settings" in listed
    pages = re.findall(r'class="job" href="([^"]+)"', listed)
    assert len(pages) == 2
    shown = [client.get(each).text for each in pages]
    for name in ("one", "two"):
        assert str(folder / name) in listed
        assert any(str(folder / name) in each for each in shown)
    assert all("Stay on one device: " in each for each in shown)
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', shown[0]):
        assert client.get(path.replace("&amp;", "&")).status_code == 200, path
    assert client.get(f"/tunings/{'0' * 24}").status_code == 404


def test_nothing_can_be_changed_or_called_by_another_name(client: TestClient) -> None:
    """There are no keys, and a page of another site has its own name for this address."""
    page = client.get("/")
    assert "<form method" not in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert client.post("/").status_code == 405
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_a_result_that_is_written_again_is_read_again(
    client: TestClient, folder: Path, recommendation: Result
) -> None:
    answer = recommendation.answer.model_copy(update={"ended": Ended.INTERRUPTED})
    changed = recommendation.model_copy(update={"answer": answer})
    changed.save(folder / "one")
    (job,) = (each.id for each in Folders([folder / "one"]).page(None).tunings)
    assert "The search was interrupted." in client.get(f"/tunings/{job}").text


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no result") as refused:
        Folders([tmp_path, tmp_path / "nowhere"])
    assert "autotune tune" in str(refused.value.next_step)
