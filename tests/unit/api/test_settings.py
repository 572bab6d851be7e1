"""The operator's settings."""

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from autotune.api.settings import FILE, load_settings
from autotune.wire.errors import SettingsError

ROOT = Path(__file__).parents[3]
Write = Callable[[str], Path]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE, raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "service.toml"
        path.write_text(text)
        return path

    return write


MINE = '[workloads.mine]\nmodel = "m:f"\ndataset = "m:g"\n'


def test_the_file_registers_workloads(write: Write) -> None:
    units = '[workloads.mine.parameters.units]\ntype = "int"\ndefault = 8\nmaximum = 9\n'
    settings = load_settings(write(f'devices = "lab"\n{MINE}{units}'))
    assert settings.devices == "lab"
    assert settings.registry()["mine"].validate({}) == {"units": 8}


def test_the_environment_wins_over_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE, str(write("[quotas]\nqueued = 3\n")))
    assert load_settings().quotas.queued == 3
    monkeypatch.setenv("AUTOTUNE_SERVICE_QUOTAS__QUEUED", "4")
    assert load_settings().quotas.queued == 4


@pytest.mark.parametrize(
    "text",
    [
        "retention_days = 6\n",
        "isolation = 'mostly'\n",
        "[quotas]\nqueued = 0\n",
        "[web]\nhosts = ['a*b']\n",
        "[proxy]\nprojects = {a = {project = 'b'}}\n",
        "[proxy]\naddresses = ['::1']\n",
        "not toml",
        f'{MINE}parameters = {{ _units = {{ type = "int" }} }}\n',
    ],
)
def test_wrong_files_are_refused(write: Write, text: str) -> None:
    with pytest.raises(SettingsError):
        load_settings(write(text)).registry()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"Settings file .* not found"):
        load_settings(tmp_path / "none.toml")


def test_a_package_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("mine", "nosuch_package:workload", "autotune.workloads")
    monkeypatch.setattr("autotune.versions.entry_points", lambda **_: [broken])
    with pytest.raises(SettingsError, match="nosuch_package"):
        load_settings().registry()


def test_a_password_is_not_shown() -> None:
    settings = load_settings(database="postgresql://me:secret@host/db")
    assert "secret" not in repr(settings)
    assert "secret" in settings.database_url


@pytest.mark.parametrize(
    ("engine", "wanted", "given"),
    [
        ("local", "auto", "auto"),
        ("ray://head:6379", "auto", "off"),
        ("ray", "auto", "off"),
        ("ray", "required", "required"),
        ("mine:Engine", "auto", "auto"),
    ],
)
def test_an_engine_elsewhere_is_reached(engine: str, wanted: str, given: str) -> None:
    """A search has the machine's network where its engine needs it, unless that is forbidden."""
    settings = load_settings(root=ROOT, engine=engine, isolation=wanted)
    assert settings.network == given


def test_the_name_of_the_devices_outlives_that_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has another host's name at each start, and the same data folder."""
    monkeypatch.setattr("platform.node", lambda: "pod-1")
    first = load_settings(data=tmp_path).named_devices()
    monkeypatch.setattr("platform.node", lambda: "pod-2")
    assert load_settings(data=tmp_path).named_devices() == first
    assert first.startswith("pod-1-")
    assert [each.name for each in tmp_path.iterdir()] == ["devices"]
