"""OpenSSH's server on hosts, whose users need no password."""

import shutil
import subprocess
from pathlib import Path

from tests.cluster.hosts import Hosts
from tests.waiting import until

SERVER = "/usr/sbin/sshd"
OF_SERVER = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
"""
OF_USERS = """\
IdentityFile {folder}/user_key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
"""


def why_not() -> str | None:
    if not Path(SERVER).exists() or shutil.which("ssh") is None:
        return "ssh between hosts needs the packages openssh-server and openssh-client"
    return None


def serve(hosts: Hosts, folder: Path) -> None:
    for key in ("host_key", "user_key"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key]
        subprocess.run(made, check=True)
    for name, text in {"sshd_config": OF_SERVER, "ssh_config": OF_USERS}.items():
        (folder / name).write_text(text.format(folder=folder), encoding="utf-8")
    for host in hosts:
        host.do("mount", "--bind", folder / "ssh_config", "/etc/ssh/ssh_config")
        host.do("mkdir", "-p", "/run/sshd")
        host.start(SERVER, "-D", "-e", "-f", folder / "sshd_config", stdout=subprocess.DEVNULL)
    for host in hosts:
        until(lambda: host.run("ssh", host.name, "true").returncode == 0, 60)  # noqa: B023 - at once
