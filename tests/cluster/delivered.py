"""What a search delivers, put into a folder."""

import shutil
from pathlib import Path

from autotune.result.files import write_program
from tests.cluster.hosts import Host
from tests.golden import golden_texts

FACTORIES = Path(__file__).parents[1] / "integration" / "program" / "programs"
STEPS = ("--epochs", "2", "--steps-per-epoch", "8", "--verbose", "2")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}


def deliver(folder: Path, *launchers: str, program: str = "workers_data") -> None:
    texts = golden_texts()
    write_program(folder / "train.py", texts[f"{program}.py"])
    for name in launchers:
        (folder / name).write_text(texts[name], encoding="utf-8")
    shutil.copytree(FACTORIES, folder / "programs")


def trains(host: Host) -> bool:
    return any("python" in each.info["name"] for each in host.processes())
