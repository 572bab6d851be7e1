"""The ten workloads of which it is asked whether they achieve what was predicted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
INPUTS = Path(__file__).with_name("inputs.py")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A workload, and the small space in which it is searched.

    Attributes:
        what: Its difficulty, in words.
        file: Of its model.
        dataset: The function of `inputs.py` that gives its examples.
        axes: What is searched beside batches and steps per call.
    """

    what: str
    file: Path = INPUTS
    dataset: str
    axes: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def factories(self) -> tuple[str, str]:
        """Those of the model and of the dataset, as text."""
        return f"{self.file}:model_fn", f"{INPUTS}:{self.dataset}"

    def space(self, name: str) -> dict[str, Any]:
        """Return what is searched."""
        common = {"per_replica_batch": [64, 256], "steps_per_execution": [1, 8], "workers": [2]}
        return {
            "name": name,
            "strategies": ["one_device", "multi_worker_mirrored"],
            "axes": {**common, "shard_policy": ["source", "data"], **self.axes},
        }


def _example(name: str, what: str) -> Promise:
    return Promise(what=what, file=EXAMPLES / f"{name}.py", dataset=name)


WORKLOADS: Mapping[str, Promise] = {
    "pausing": Promise(what="the source pauses 0.3 s in each second", dataset="pausing"),
    "refilling": Promise(what="a shuffle buffer refills in each epoch", dataset="refilling"),
    "kept": Promise(what="a slow first epoch, then the factory's own cache", dataset="kept"),
    "costly": Promise(
        what="a costly map that the axis `cache` does away with",
        dataset="costly",
        axes={"cache": ["off", "memory"]},
    ),
    "ramping": Promise(what="the source takes seconds to reach its rate", dataset="ramping"),
    "draining": Promise(what="a prefetched start drains", dataset="draining"),
    "digits": _example("digits", "a small convolutional network"),
    "lstm": _example("lstm", "a recurrent network"),
    "wide_dense": _example("wide_dense", "many parameters"),
    "python_input": _example("python_input", "input in Python"),
}
