"""What a search hands over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autotune.automatic import Automatic
from autotune.certificate import Certificate
from autotune.config import Configuration
from autotune.diagnose.diagnosis import Diagnosis
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.recommendation.alternative import Alternative
from autotune.recommendation.asked import Asked
from autotune.recommendation.output import RESULT, write_files
from autotune.recommendation.saved import PICKLES, USUAL_MARGIN, SavedConfiguration
from autotune.recommendation.verdict import Verdict
from autotune.script import cluster_files
from autotune.trial import Trial
from autotune.value import Value
from autotune.version import VERSION
from autotune.workload import Workload, WorkloadFacts


class Recommendation(Value):
    """The result of a search: the configuration to train with, why, and the program for it."""

    config: Configuration
    """The recommended configuration."""
    verdict: Verdict
    """Whether to distribute."""
    summary: str
    """The verdict as a sentence."""
    reasons: tuple[str, ...]
    """Why, one sentence each, the most important first."""
    examples_per_second: Interval | None
    """Throughput of the recommended configuration; None if there were no finals."""
    objective: str = "throughput"
    """Name of what was optimized."""
    value: Interval | None = None
    """Its value for the recommended configuration; None if there were no finals."""
    speedup: Interval
    """Speed-up over the best single-device configuration; exactly 1 if that is recommended."""
    one_device: Configuration | None = None
    """The best single-device configuration in the finals."""
    best_distributed: Configuration | None
    """The best distributed configuration in the finals, recommended or not."""
    distributed_speedup: Interval | None
    """Speed-up of `best_distributed` over the best single-device configuration."""
    margin: float = USUAL_MARGIN
    """Minimum relative gain for which distribution is recommended."""
    over_default: Interval | None
    """Speed-up of the recommended configuration over the Keras defaults on one device."""
    script: str
    """The training program, `train.py`, exactly as timed."""
    launch: str | None
    """`launch.py`, which starts all workers on this machine; None for one process."""
    unchanged_batch: Alternative | None = None
    """The fastest configuration with the default global batch size, if the recommended one has
    another."""
    trials: tuple[Trial, ...]
    """All trials, in the order in which they ran."""
    diagnosis: Diagnosis | None = None
    """Where the step time goes; None if there was no time to profile it."""
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    study: str
    """Name of the Optuna study."""
    seed: int
    seconds: float
    """Wall time of the search."""
    prepared_seconds: float = 0.0
    """Part of `seconds` before the first trial: importing TensorFlow and checking the factories."""
    interrupted: bool = False
    """Whether the search was stopped early."""
    certificate: Certificate | None = None
    """The correctness checks of the recommended distributed configuration."""
    automatic: Automatic | None = None
    """Values chosen by `tf.data.AUTOTUNE`; None if there was no time to read them."""
    asked: Asked | None = None
    """The arguments of the search; None in results of older versions."""

    def saved(self) -> SavedConfiguration:
        """Return the content of `config.yaml`, as `autotune.verify` accepts it."""
        return SavedConfiguration(
            autotune=VERSION,
            verdict=self.verdict,
            configuration=self.config,
            global_batch=self.config.global_batch,
            examples_per_second=self.examples_per_second,
            speedup=self.speedup,
            one_device=self.one_device,
            best_distributed=self.best_distributed,
            distributed_speedup=self.distributed_speedup,
            margin=self.margin,
            certificate=self.certificate,
            automatic=self.automatic,
            workload=self.workload,
            facts=self.facts,
            machine=self.machine,
            seed=self.seed,
        )

    def programs(self) -> Mapping[str, str | None]:
        """Return train.py and what starts its processes, by name; None for what it needs not."""
        return {
            "train.py": self.script,
            "launch.py": self.launch,
            **cluster_files(self.config, self.machine),
        }

    def save(self, folder: str | Path) -> Path:
        """Write `config.yaml`, `result.json`, `train.py` and the trials to a folder.

        For several workers also `launch.py` (this machine), `launch.slurm` and `jobset.yaml`
        (several machines).

        Args:
            folder: Created if missing; existing files of these names are overwritten.

        Returns:
            The folder.

        Raises:
            OutputError: The folder or a file is not writable.
        """
        whole = self.model_dump_json(exclude={"trials": True, **PICKLES}) + "\n"
        texts = {RESULT: whole, **self.programs()}
        return write_files(Path(folder), self.saved(), self.trials, texts)
