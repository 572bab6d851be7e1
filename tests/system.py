"""Installs the programs that some tests drive, where root or sudo need not ask anybody.

    python tests/system.py            for `make test`
    python tests/system.py cluster    for `make test-cluster`: servers, so only as root

Where they cannot be had the tests that need them are skipped, with the reason, and `make test` says
so at its end.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "Chromium": ("chromium", "fonts-dejavu-core"),
    "PostgreSQL": ("postgresql",),
    "bubblewrap": ("bubblewrap",),
    "Caddy": ("caddy",),
    "systemd-nspawn": ("systemd-container",),
}
"""Debian's packages of each program."""
CLUSTER = {"Slurm": ("slurm-wlm", "munge"), "the server of OpenSSH": ("openssh-server",)}


def missing() -> list[str]:
    found = {
        "Slurm": shutil.which("slurmctld"),
        "the server of OpenSSH": shutil.which("sshd", path="/usr/sbin"),
        "Chromium": shutil.which("chromium") or shutil.which("chromium-browser"),
        "bubblewrap": shutil.which("bwrap"),
        "Caddy": shutil.which("caddy"),
        "systemd-nspawn": shutil.which("systemd-nspawn"),
        "PostgreSQL": shutil.which("initdb")
        or next(Path("/usr/lib/postgresql").glob("*/bin/initdb"), None),
    }
    return [name for name, path in found.items() if path is None]


def apt() -> list[str] | None:
    """Return the beginning of a command that may install packages, or None where there is none."""
    if shutil.which("apt-get") is None:
        return None
    if os.getuid() == 0:
        return ["apt-get"]
    sudo = shutil.which("sudo")
    allowed = sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False)
    return [str(sudo), "-n", "apt-get"] if allowed and allowed.returncode == 0 else None


def install(names: list[str], command: list[str]) -> None:
    """Install the packages of some programs, after a fresh look at what there is if that fails."""
    packages = [package for name in names for package in {**PACKAGES, **CLUSTER}[name]]
    wanted = [*command, "install", "--yes", "--quiet", "--no-install-recommends", *packages]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for before in ([], [*command, "update", "--quiet"]):
        if before:
            subprocess.run(before, stdout=subprocess.DEVNULL, env=environment, check=False)
        done = subprocess.run(wanted, stdout=subprocess.DEVNULL, env=environment, check=False)
        if done.returncode == 0:
            return


def main() -> None:
    wanted = CLUSTER if "cluster" in sys.argv else PACKAGES
    names, command = [name for name in missing() if name in wanted], apt()
    # On a machine that is somebody's own a server would stay, and listen; the last needs root.
    if os.getuid() != 0:
        names = [
            name for name in names if name in PACKAGES and name not in {"Caddy", "systemd-nspawn"}
        ]
    if names and command:
        sys.stderr.write(f"Installing {' and '.join(names)}, which some tests drive.\n")
        install(names, command)


if __name__ == "__main__":
    main()
