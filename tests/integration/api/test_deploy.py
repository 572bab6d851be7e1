"""The files in deploy/, started as far as that goes on a machine that can fetch no images."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DEPLOY = ROOT / "deploy"
USE = """
[Service]
Type=oneshot
ExecStartPre=ldconfig
ExecStart=/opt/autotune/bin/python /srv/booted.py
StandardOutput=truncate:/srv/out/found.json
StandardError=truncate:/srv/out/error
"""
MODELS = """
engine = "serving:engine"
[patience]
idle = 0.3
poll = 0.3
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    _install(folder / "source", folder / "opt")
    return folder / "opt"


@pytest.fixture
def place(tmp_path: Path, program: Path, postgresql: Any) -> Iterator[Path]:
    """A folder with the program as the Containerfile installs it, workloads, and a database."""
    postgresql.execute("CREATE DATABASE composition TEMPLATE schema")
    (tmp_path / "opt").symlink_to(program)
    shutil.copytree(ROOT / "examples", tmp_path / "models" / "examples")
    for name in ("serving.py", "counting.py"):
        shutil.copy(ROOT / "tests" / "acceptance" / name, tmp_path / "models")
    shutil.copytree(ROOT / "tests" / "engines", tmp_path / "models" / "tests" / "engines")
    (tmp_path / "models" / "service.toml").write_text(MODELS)
    (tmp_path / "socket").symlink_to(postgresql.folder)
    # The user of the container is none of those that the folder is for.
    postgresql.folder.chmod(0o711)
    (tmp_path / "hosts").write_text("127.0.0.1 localhost api database\n")
    yield tmp_path
    postgresql.execute("DROP DATABASE composition WITH (FORCE)")


def _install(source: Path, prefix: Path) -> None:
    """Install the program from what the Containerfile copies, beside what it needs."""
    source.mkdir()
    for line in (DEPLOY / "Containerfile").read_text("utf-8").splitlines():
        names = line.split()[1:-1] if line.startswith("COPY ") and "--from" not in line else []
        for name in names:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, source / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (packages,) = prefix.glob("lib/python*/site-packages")
    # Some of what it needs takes gigabytes, and is here already.
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    words = ["-m", "pip", "--python", prefix / "bin" / "python", "install", "--quiet", "--no-deps"]
    subprocess.run([sys.executable, *words, "."], check=True, cwd=source)
    program = prefix / "bin" / "autotune"
    _, rest = program.read_text("utf-8").split("\n", 1)
    program.write_text(f"#!/opt/autotune/bin/python\n{rest}", "utf-8")


def _moved(prefix: Path, copy: Path) -> Path:
    """Copy a virtual environment for a machine whose Python and packages lie below /opt."""
    shutil.copytree(prefix, copy, symlinks=True)
    (packages,) = copy.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text("/opt/needed\n")
    for each in copy.glob("bin/python*"):
        each.unlink()
        each.symlink_to(f"/opt/python/bin/python3.{sys.version_info.minor}")
    (copy / "pyvenv.cfg").write_text("home = /opt/python/bin\n")
    return copy


def _can_sandbox() -> bool:
    """Return whether there are networks and users of their own; some containers forbid them."""
    if os.getuid() != 0 or not shutil.which("bwrap"):
        return False
    inner = ["bwrap", "--unshare-user", "--uid", "10001", "--ro-bind", "/", "/", "--proc", "/proc"]
    outer = ["bwrap", "--unshare-net", "--dev-bind", "/", "/"]
    done = subprocess.run([*outer, *inner, "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not shutil.which("caddy"), reason="Caddy is not here: `apt-get install caddy`")
@pytest.mark.skipif(not _can_sandbox(), reason="bubblewrap cannot make a sandbox here, as root")
def test_the_composition_serves_by_tls_from_a_root_that_is_read_only(place: Path) -> None:
    """Client and page come through the proxy, and events as they come; another site does not."""
    words = ["bwrap", "--die-with-parent", "--unshare-net", "--dev-bind", "/", "/"]
    words += ["--bind", str(place / "hosts"), "/etc/hosts", sys.executable]
    command = [*words, str(HERE / "composition.py"), str(place), "composition"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    logs = [each.read_text("utf-8") for each in place.glob("*.log")]
    assert done.returncode == 0, logs
    found = json.loads(done.stdout)
    assert (found["state"], found["events"][0], found["events"][-1]) == ("done", "queued", "ended")
    assert "; Secure" in found["cookie"]
    assert (found["home"], found["foreign"], found["plain"]) == (
        200,
        403,
        "https://localhost/healthz",
    )
    assert found["user"] == "10001"
    assert found["refused"] == ["/opt/autotune/x", "/srv/models/x", "/usr/x", "/etc/x"]


def _can_boot() -> bool:
    return os.getuid() == 0 and bool(shutil.which("systemd-nspawn"))


@pytest.mark.timeout(1800)
@pytest.mark.skipif(
    not _can_boot(), reason="systemd-nspawn, which needs root, is not here: systemd-container"
)
def test_the_units_serve_under_systemd(place: Path) -> None:
    """A sandbox can be made in their confines, a kill is recovered from, a stop loses nothing."""
    machine = Booted(place)
    # As of a machine; that of a container is read-only.
    writable = {**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes"}
    done = subprocess.run(
        machine.command(), env=writable, capture_output=True, text=True, check=False
    )
    shown = machine.out / "found.json"
    assert shown.is_file(), done.stdout + done.stderr
    journal = "".join((machine.out / name).read_text("utf-8") for name in ("error", "journal"))
    assert shown.read_text("utf-8"), journal
    found = json.loads(shown.read_text("utf-8"))
    confined = {"user": "autotune", "capabilities": 0, "gains": False, "filtered": True}
    assert found == {
        "events": ["queued", "ended"],
        "stopped": "queued",
        "state": "done",
        "takes code": [True],
        "autotune-api": confined,
        "autotune-worker": confined,
        "left": "",
    }, journal


class Booted:
    """A machine with the root file system of this one, whose changes are forgotten."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.out = place / "out"
        self.out.mkdir()
        (place / "etc").mkdir()
        # By the clock of this engine a search takes no longer where the machine is noisy.
        counting = MODELS.replace("serving:engine", "counting:Counting")
        settings = f'root = "/srv/models"\n{counting}'
        (place / "etc" / "service.toml").write_text(settings)
        database = "postgresql://autotune@/composition?host=/srv/socket"
        variables = f"AUTOTUNE_SERVICE_DATABASE={database}\nPYTHONPATH=/srv/models\n"
        (place / "etc" / "environment").write_text(variables)
        (place / "etc" / "environment").chmod(0o600)
        (place / "use.service").write_text(USE)
        # Where the Python of the tests is one that was made for another folder.
        (place / "python.conf").write_text("/opt/python/lib\n")
        self._opt = _moved(place / "opt", place / "booted")

    def command(self) -> list[str]:
        read = {
            self._opt: "/opt/autotune",
            self._place / "models": "/srv/models",
            self._place / "etc": "/etc/autotune",
            self._place / "use.service": "/etc/systemd/system/use.service",
            self._place / "python.conf": "/etc/ld.so.conf.d/00-python.conf",
            HERE / "booted.py": "/srv/booted.py",
            sys.base_prefix: "/opt/python",
            sysconfig.get_path("purelib"): "/opt/needed",
        }
        read |= {each: f"/etc/systemd/system/{each.name}" for each in DEPLOY.glob("systemd/*")}
        # What it writes to its root stays in memory, and goes with its mounts.
        layer = f"{self._place}/layer"
        options = f"lowerdir=/,upperdir={layer}/changed,workdir={layer}/work"
        mounted = f"""
            set -e; mkdir {layer}; mount -t tmpfs tmpfs {layer}
            mkdir -m 755 {layer}/changed {layer}/work {layer}/root
            mount -t overlay overlay -o {options} {layer}/root
            exec systemd-nspawn --quiet --directory={layer}/root "$@"
        """
        words = ["unshare", "--mount", "sh", "-c", mounted, "sh", "--boot", "--private-network"]
        words += ["--register=no", "--keep-unit", "--console=pipe"]
        words += [f"--bind-ro={source}:{target}" for source, target in read.items()]
        words += [f"--bind={(self._place / 'socket').resolve()}:/srv/socket"]
        return [*words, f"--bind={self.out}:/srv/out", "systemd.unit=use.service"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
@pytest.mark.parametrize(("name", "exposure"), [("api", 20), ("worker", 35)])
def test_a_unit_is_valid_and_hardened(tmp_path: Path, name: str, exposure: int) -> None:
    unit = tmp_path / f"autotune-{name}.service"
    text = (DEPLOY / "systemd" / unit.name).read_text("utf-8")
    unit.write_text(text.replace("/opt/autotune/bin/autotune", sys.executable))
    limit = f"--threshold={exposure}"
    for words in (["verify"], ["security", "--offline=yes", limit]):
        command = ["systemd-analyze", *words, str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert words[0] != "verify" or done.stderr == ""
