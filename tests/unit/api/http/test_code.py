"""Uploading code, and asking for jobs that run it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.settings import Quotas, Settings
from autotune.api.store import attempts, code
from autotune.api.store.database import Database
from autotune.api.values import WorkerInfo
from autotune.packing import Packed, packed

ALL = [Scope.READ, Scope.WRITE, Scope.CODE]


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text("import keras\n")
    return packed(folder)


@pytest.fixture
def uploader(client_with: Any) -> TestClient:
    return client_with(*ALL)


def put(client: TestClient, archive: bytes, digest: str | None = None) -> Any:
    digest = digest or hashlib.sha256(archive).hexdigest()
    return client.put(f"/v1/code/{digest}", content=archive)


def ask(client: TestClient, digest: str, **program: object) -> Any:
    what = {"digest": digest, "model": "train.py", **program}
    return client.post("/v1/tunings", json={"program": what, "train_for": "6h"})


def test_equal_code_travels_once(uploader: TestClient, project: Packed) -> None:
    where = f"/v1/code/{project.digest}"
    assert uploader.get(where).status_code == 404
    first, second = (put(uploader, project.archive) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json() == uploader.get(where).json()
    assert first.json()["files"] == 1


def test_a_job_runs_what_was_uploaded(
    uploader: TestClient, project: Packed, database: Database
) -> None:
    """Only a worker that takes code gets it, with all that the request said."""
    put(uploader, project.archive)
    made = ask(uploader, project.digest, arguments=["--epochs", "3"])
    assert made.status_code == 202, made.text
    assert made.json()["workload"] == "train.py"
    assert made.json()["waiting"]["kind"] == "worker"
    info = WorkerInfo(worker="w", devices="bench", host="h", workloads={"train.py": "1"})
    assert attempts.claim(database, info, 30) is None
    info = info.model_copy(update={"takes_code": True, "workloads": {}})
    claimed = attempts.claim(database, info, 30)
    assert claimed is not None
    assert claimed.job.program.arguments == ("--epochs", "3")
    assert claimed.job.code == project.digest[:12]
    assert code.archive(database, claimed.job.project, project.digest) == project.archive


def test_only_keys_with_the_scope_may(client_with: Any, project: Packed) -> None:
    reader = client_with(Scope.READ, Scope.WRITE, Scope.ADMIN)
    for answer in (
        put(reader, project.archive),
        reader.get(f"/v1/code/{project.digest}"),
        ask(reader, project.digest),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing")
        assert "scope code" in answer.json()["detail"]


def test_no_project_has_the_code_of_another(client_with: Any, project: Packed) -> None:
    put(client_with(*ALL), project.archive)
    other = client_with(*ALL)
    assert other.get(f"/v1/code/{project.digest}").status_code == 404
    refused = ask(other, project.digest)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown-code")
    assert put(other, project.archive).status_code == 201


@pytest.mark.parametrize("digest", ["0" * 64, "f" * 64])
def test_another_digest_is_refused(
    uploader: TestClient, project: Packed, settings: Settings, digest: str
) -> None:
    """Nothing of it is left, in the database or in the folder."""
    before = {*settings.data.rglob("*")}
    answer = put(uploader, project.archive, digest)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-archive")
    assert project.digest in answer.json()["detail"]
    assert uploader.get(f"/v1/code/{digest}").status_code == 404
    assert {*settings.data.rglob("*")} == before


@pytest.mark.parametrize("digest", ["x", "A" * 64, "0" * 63, "..%2f..%2fx"])
def test_an_odd_digest_is_refused(uploader: TestClient, digest: str) -> None:
    assert put(uploader, b"", digest).status_code in {404, 422}


def test_no_archive_is_no_code(uploader: TestClient) -> None:
    answer = put(uploader, b"import keras")
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-archive")


def test_large_bodies_are_for_code_alone(serve: Any, settings: Settings, project: Packed) -> None:
    limits = settings.code.model_copy(update={"bytes": 1024, "files": 1})
    app = serve(settings.model_copy(update={"code": limits}), keys=False)
    with TestClient(app, base_url="http://localhost") as client:
        assert put(client, bytes(2000)).status_code == 413
        assert put(client, project.archive).status_code == 201


def test_a_project_keeps_so_much_code(serve: Any, settings: Settings, tmp_path: Path) -> None:
    quotas = Quotas(code=1200)
    app = serve(settings.model_copy(update={"quotas": quotas}), keys=False)
    answers = []
    with TestClient(app, base_url="http://localhost") as client:
        for number in range(20):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            (folder / "a.py").write_text(f"{number}")
            answers.append(put(client, packed(folder).archive))
    assert answers[0].status_code == 201
    assert (answers[-1].status_code, answers[-1].json()["code"]) == (429, "quota-exceeded")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ({"model": "a.py:f"}, "no pair of functions"),
        ({"dataset": "a.py:g"}, "no pair of functions"),
        ({"model": "a.py:f", "dataset": "a.py:g", "arguments": ["x"]}, "no `arguments`"),
        ({"dataset_params": {"n": 1}}, "takes no parameters"),
        ({"model": "train.py\n"}, "printable"),
        ({"digest": "main"}, "pattern"),
    ],
)
def test_a_program_is_named_in_full(
    uploader: TestClient, project: Packed, program: dict[str, Any], words: str
) -> None:
    put(uploader, project.archive)
    answer = ask(uploader, **{"digest": project.digest, **program})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_a_job_is_of_one_kind(uploader: TestClient, project: Packed) -> None:
    put(uploader, project.archive)
    both = {"workload": "digits", "program": {"digest": project.digest, "model": "train.py"}}
    for asked in (both, {}):
        answer = uploader.post("/v1/tunings", json=asked)
        assert answer.status_code == 422
        assert "either workload or program" in answer.json()["detail"]


def test_what_no_job_needs_is_removed(
    uploader: TestClient, project: Packed, database: Database
) -> None:
    put(uploader, project.archive)
    job = ask(uploader, project.digest).json()
    assert code.remove_unused(database, -1) == 0
    uploader.post(f"{job['url']}/cancel")
    assert code.remove_unused(database, 3600) == 0
    assert code.remove_unused(database, -1) == 1
    assert uploader.get(f"/v1/code/{project.digest}").status_code == 404
