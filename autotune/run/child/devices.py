"""What TensorFlow sees on this machine, found by a process of its own."""

from __future__ import annotations

import json
from typing import Any

import keras
import tensorflow as tf

from autotune.run.events import EventWriter
from autotune.run.folder import TrialFolder


def look(folder: TrialFolder, _: EventWriter) -> None:
    """Write the accelerators and the versions as the folder's answer."""
    found = {
        "gpus": [_name(gpu) for gpu in tf.config.list_physical_devices("GPU")],
        "tpus": len(tf.config.list_physical_devices("TPU")),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
    }
    folder.answer.write_text(json.dumps(found), encoding="utf-8")


def _name(gpu: Any) -> str:
    return str(tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name))
