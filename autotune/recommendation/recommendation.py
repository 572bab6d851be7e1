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
    """The best configuration, how sure it is, why, and the program for it."""

    config: Configuration
    verdict: Verdict
    summary: str
    """The verdict in a sentence."""
    reasons: tuple[str, ...]
    examples_per_second: Interval | None
    """Throughput of the recommended configuration; None if the finals did not take place."""
    speedup: Interval
    """Throughput of the recommended configuration as a multiple of the best single device's:
    exactly one if that is what is recommended."""
    one_device: Configuration | None = None
    """The best single-device configuration of the finals."""
    best_distributed: Configuration | None
    """The best distributed finalist, recommended or not."""
    distributed_speedup: Interval | None
    """Its throughput as a multiple of the best single device's."""
    margin: float = USUAL_MARGIN
    """A gain below this share is not worth the trouble of distribution."""
    over_default: Interval | None
    """Throughput of the recommended configuration as a multiple of what Keras does by itself."""
    script: str
    """The training program, `train.py`: byte for byte the one that was timed."""
    launch: str | None
    """`launch.py`, which starts a gang of workers on this machine; None for one process."""
    unchanged_batch: Alternative | None = None
    """The fastest at the global batch of the defaults, where the recommended one has another."""
    trials: tuple[Trial, ...]
    diagnosis: Diagnosis | None = None
    """Where the time of a step goes; None if there was no time to find out."""
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    study: str
    """Name of the Optuna study."""
    seed: int
    seconds: float
    """Wall time of the search."""
    prepared_seconds: float = 0.0
    """Of these, what passed before the first trial: TensorFlow's import and the preflight."""
    interrupted: bool = False
    certificate: Certificate | None = None
    """What was checked of a distributed configuration before it could win."""
    automatic: Automatic | None = None
    """What tf.data's AUTOTUNE settled on in a run of its own; None without the time for it."""
    asked: Asked | None = None
    """What the search was asked for; None in a recommendation of before."""

    def saved(self) -> SavedConfiguration:
        """Return what `config.yaml` holds."""
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
        """Write config.yaml, result.json, train.py, trials.csv and trials.jsonl.

        A gang gets launch.py for this machine, launch.slurm and jobset.yaml for several.

        Args:
            folder: Made if it does not exist; files of these names are replaced.

        Returns:
            The folder.

        Raises:
            OutputError: It cannot be written.
        """
        whole = self.model_dump_json(exclude={"trials": True, **PICKLES}) + "\n"
        texts = {RESULT: whole, **self.programs()}
        return write_files(Path(folder), self.saved(), self.trials, texts)
