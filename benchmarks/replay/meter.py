"""A replayed machine on which any tuner measures, in the same virtual time."""

from pathlib import Path

from autotune.config import Configuration
from autotune.engine.tasks import InspectionRequest, TrialRequest
from autotune.search.stopping import MeasureWatch
from autotune.search.trials import epoch_of, trial_of
from autotune.trial import Stage
from benchmarks.peers.job import Entry
from benchmarks.replay.engine import ReplayEngine
from benchmarks.replay.replay import situation
from benchmarks.replay.world import World


class Meter:
    """Measures on a replayed machine as autotune does, in virtual time, preparation included."""

    def __init__(self, world: World, seconds: float, seed: int, batch: int | None = None) -> None:
        self._engine = ReplayEngine(world, seed)
        self._subject, self.found = situation(world.table.name, batch)
        self._engine.execute(InspectionRequest(self._subject.workload))
        self._seconds = seconds
        self.trial_seconds = world.exhaustive_seconds / len(world.table.configurations)
        self.log: list[Entry] = []

    @property
    def left(self) -> float:
        """Virtual seconds."""
        return self._seconds - self._engine.now()

    def measure(self, configuration: Configuration) -> float | None:
        """Return the rate of a replayed run."""
        request = TrialRequest(
            configuration=configuration,
            script="",
            workload=self._subject.workload,
            roles=(),
            folder=Path(),
        )
        epoch = epoch_of(configuration, self._subject)
        result = self._engine.execute(request, MeasureWatch(epoch=epoch))
        trial = trial_of(len(self.log), Stage.EXPLORE, configuration, result, epoch)
        rate = trial.examples_per_second if trial.measured else None
        now = self._engine.now()
        self.log.append(Entry(seconds=now, configuration=configuration, rate=rate))
        return rate
