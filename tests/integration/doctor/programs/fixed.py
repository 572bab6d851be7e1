"""Runs the fixed forms of the rules' examples, each in a process with two devices; prints JSON.

The programs come as JSON on stdin, by their names; the error of each comes back, or nothing.
"""

import json
import os
import runpy
import sys
import tempfile
import traceback
from pathlib import Path

import tensorflow as tf

AT_ONCE = 2
"""Processes; each of them waits more than it computes."""


def run(path: Path) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    folder = path.with_suffix("")
    folder.mkdir()
    os.chdir(folder)
    for name in ("train-0.tfrecord", "train-1.tfrecord"):
        with tf.io.TFRecordWriter(name) as writer:
            writer.write(b"example")
    runpy.run_path(str(path), run_name="__main__")


def started(path: Path) -> int:
    """Start a process that runs a program and writes its error, and return its number."""
    process = os.fork()
    if process == 0:
        error = ""
        try:
            run(path)
        except BaseException:  # noqa: BLE001 - any error is an answer
            error = traceback.format_exc()
        path.with_suffix(".error").write_text(error, "utf-8")
        os._exit(0)
    return process


def main() -> None:
    programs: dict[str, str] = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as place:
        running: list[int] = []
        for name, text in programs.items():
            path = Path(place) / f"{name}.py"
            path.write_text(text, "utf-8")
            running.append(started(path))
            while len(running) >= AT_ONCE:
                running.remove(os.wait()[0])
        for process in running:
            os.waitpid(process, 0)
        paths = {name: Path(place) / f"{name}.error" for name in programs}
        crash = "The process was killed."
        errors = {it: at.read_text() if at.exists() else crash for it, at in paths.items()}
    sys.stdout.write(f"\n{json.dumps(errors)}\n")


if __name__ == "__main__":
    main()
