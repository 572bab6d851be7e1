"""Fills its disk, so that not even this can be reported."""

import resource
import tempfile


def main(*_: object, **__: object) -> None:
    """Let no file grow any more, and write one."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(b"x")
