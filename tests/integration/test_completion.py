"""Tab in a real bash."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real
BIN = Path(sys.executable).parent
# What bash does when Tab is pressed: it calls the function that was registered for the command.
PRESS_TAB = """
eval "$(autotune --show-completion bash)"
line=$1
COMP_WORDS=($line); [ "${line: -1}" = " " ] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$line; COMP_POINT=${#line}
"$(complete -p autotune | sed 's/.*-F \\([^ ]*\\).*/\\1/')" autotune
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(line: str, folder: Path) -> set[str]:
    bash = shutil.which("bash")
    if bash is None or not (BIN / "autotune").is_file():
        pytest.skip("needs bash and the installed command")
    done = subprocess.run(
        [bash, "--norc", "-c", PRESS_TAB, "bash", line],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("autotune ver", {"verify"}),
        ("autotune tune --strategies one_device,mir", {"one_device,mirrored"}),
    ],
)
def test_tab_offers_what_can_follow(line: str, expected: set[str], tmp_path: Path) -> None:
    """Commands, and values of an option in a list."""
    assert offered(line, tmp_path) == expected
