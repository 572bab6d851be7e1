"""Runs one configuration through the engine and keeps what came of it."""

import math
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path

from optuna.trial import Trial as OptunaTrial

from autotune.answer import Answer
from autotune.checks.certificate import Certificate
from autotune.checks.certify import Candidate, certify, family
from autotune.config import Configuration
from autotune.engine.base import Engine, Limits, RunResult
from autotune.engine.load import Load
from autotune.engine.tasks import (
    BetweenEpochsRequest,
    TrialRequest,
    trial_request,
)
from autotune.events import Notice, Observer, Preparing, TrialEnded, TrialStarted
from autotune.options import SCRIPT_SEED
from autotune.reason import BudgetEnded, Outcome, Overdue, TooFewHosts, Uncertified
from autotune.search.failures import ATTEMPTS, still_known
from autotune.search.setup import Subject
from autotune.search.stopping import PATIENCE, PATIENCE_IN_REPEATS, Budget, MeasureWatch
from autotune.search.study import Study
from autotune.search.trials import (
    REFERENCE_RUNS,
    History,
    epoch_of,
    expected_start,
    fill_of,
    trial_of,
)
from autotune.stats.intervals import EXPECTED
from autotune.stats.windows import UNKNOWN, Epoch
from autotune.strategies import strategy
from autotune.text import plural
from autotune.trial import Stage, Trial, lacks_host


@dataclass
class Runner:
    """Makes trials, one at a time, and keeps each in a study."""

    engine: Engine
    subject: Subject
    study: Study
    _: KW_ONLY
    folder: Path
    budget: Budget
    """Bounds how long a phase may take."""
    observer: Observer
    most_memory: float | None = None
    """GiB that the processes of each may hold; None takes most of what is free."""
    loads: list[Load] = field(default_factory=list, init=False)
    """What other programs took of the machine during each run."""
    history: History = field(init=False)
    answer: Callable[[], Answer | None] = field(default_factory=lambda: lambda: None, init=False)
    """Tells what all runs so far say."""
    _lost_hosts: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        start = expected_start(self.subject.facts)
        self.history = History(still_known(self.study.trials), self.subject.scorer, start)

    def run(
        self,
        configuration: Configuration,
        stage: Stage,
        *,
        prunes: bool = False,
        precision: float = EXPECTED.sd / 2,
    ) -> Trial:
        """Run a configuration once and save the trial.

        It ends once its standard error of log(score) is no larger than the precision.
        """
        number = len(self.study.trials)
        self.observer(
            TrialStarted(
                number=number,
                stage=stage,
                configuration=configuration,
                elapsed=self.budget.elapsed,
            )
        )
        batch, scorer = configuration.global_batch, self.subject.scorer
        epoch = epoch_of(configuration, self.subject)
        asked = self.study.ask(configuration)
        watch = MeasureWatch(
            score=lambda steps_per_second: scorer.of_rate(configuration, steps_per_second * batch),
            report=partial(self.study.report, asked, prunes=prunes),
            left=self._left_to_measure,
            epoch=epoch,
            precision=precision,
            ahead=PATIENCE_IN_REPEATS if stage is Stage.REPEAT else PATIENCE,
        )
        folder = self.folder / f"{number:04d}"
        # A trial that was interrupted leaves its folder and no record.
        shutil.rmtree(folder, ignore_errors=True)
        result = self.engine.execute(self._request(configuration, folder), watch)
        if isinstance(result.reason, Overdue) and self.budget.left <= 0:
            # The limits were cut to the budget: it was slow, which is no hang.
            ended = BudgetEnded(phase=result.reason.phase, seconds=result.reason.seconds)
            result = result.model_copy(update={"outcome": Outcome.UNFINISHED, "reason": ended})
        trial = trial_of(number, stage, configuration, result, epoch)
        if load := self.engine.load():
            self.loads.append(load)
            trial = trial.model_copy(update={"others": load.share})
        trial = self._keep(trial, asked)
        self._notify_lost_hosts()
        return trial

    def _left_to_measure(self) -> float:
        """Return the seconds left; never long over for the first trial, which is to be finished."""
        return self.budget.left if self.history.baseline else max(self.budget.left, 0.0)

    def why_impossible(self, configuration: Configuration) -> TooFewHosts | None:
        """Return why a configuration cannot run any more, or None if its hosts are left."""
        lost, machine = self.engine.lost_hosts(), self.subject.machine
        if not lost:
            return None
        roles = strategy(configuration.strategy).roles(configuration, machine)
        needed, left = 1 + max(role.host for role in roles), len(machine.hosts) - len(lost)
        return TooFewHosts(needed=needed, left=left) if needed > left else None

    def notify(self, text: str) -> None:
        self.observer(Notice(text=text))

    def without_trial(
        self, configuration: Configuration, *, held: bool, exchanges: bool = True
    ) -> RunResult:
        """Run a configuration for as long as it takes to time a step, and keep no trial.

        Where the batch is held, every step gets the same one, from memory.
        """
        self.observer(Preparing(what="Profiling the step time"))
        with tempfile.TemporaryDirectory() as folder:
            request = self._request(configuration, Path(folder) / "run", held=held)
            return self.engine.execute(replace(request, exchanges=exchanges), self._plain_watch())

    def other(self, configuration: Configuration, program: str) -> RunResult:
        """Run another program than a configuration's own, for as long as it takes to time it."""
        self.observer(Preparing(what="Running the script with and without the change"))
        with tempfile.TemporaryDirectory() as folder:
            request = self._request(configuration, Path(folder) / "run")
            return self.engine.execute(
                replace(request, script=program, fill=None, own_calls=True),
                self._plain_watch(epoch_of(configuration, self.subject)),
            )

    def between_epochs(self, configuration: Configuration) -> float | None:
        """Measure the seconds of a program between two epochs; None where that fails."""
        self.observer(Preparing(what="Timing validation and checkpoints"))
        # Where its user would have the checkpoints: disks differ.
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            trial = self._request(configuration, Path(folder) / "run")
            limits = replace(trial.limits, window=self.budget.most)
            request = BetweenEpochsRequest(trial=replace(trial, limits=limits))
            return self.engine.execute(request)

    def certify(self, configuration: Configuration) -> Certificate | None:
        """Look whether a configuration trains as one device would; keep it as a trial if not.

        None if the budget ended before that was found, or a host was lost.
        """
        self.observer(Preparing(what=f"Certifying {strategy(configuration.strategy).title}"))
        subject = self.subject
        candidate = Candidate(
            configuration=configuration,
            workload=subject.workload,
            facts=subject.facts,
            machine=subject.machine,
            rate=self.history.throughput(configuration),
            limits=partial(self._limits, configuration),
        )
        # Not among the traces of the trials: it holds copies of examples.
        with tempfile.TemporaryDirectory(prefix="autotune-certify-") as folder:
            certificate = certify(self.engine, candidate, Path(folder))
        lost = any(lacks_host(each.reason) for each in certificate.failures)
        if lost or (certificate.failures and self.budget.left <= 0):
            # The limits were cut to the budget; a process that was ended by them proves nothing.
            return None
        if certificate.failures:
            ended = RunResult(
                outcome=Outcome.REJECTED,
                reason=Uncertified(findings=certificate.failures),
                wall_seconds=certificate.seconds,
            )
            self._keep(trial_of(len(self.study.trials), Stage.REPEAT, configuration, ended))
        return certificate

    def _keep(self, ended: Trial, asked: OptunaTrial | None = None) -> Trial:
        # The engine's clock does not jump, and is virtual where the machine is.
        ended_at = self.budget.zero + self.engine.now()
        trial = ended.model_copy(update={"ended_at": ended_at})
        if asked is None:
            self.study.append(trial)
        else:
            self.study.tell(asked, trial)
        self.history.add(trial)
        answer, elapsed = self.answer(), self.budget.elapsed
        self.observer(TrialEnded(trial=trial, elapsed=elapsed, answer=answer))
        return trial

    def _notify_lost_hosts(self) -> None:
        lost, every = self.engine.lost_hosts(), len(self.subject.machine.hosts)
        if lost != self._lost_hosts:
            self._lost_hosts = lost
            left = f"{every - len(lost)} of {plural(every, 'machine')}"
            self.notify(f"The search goes on without {', '.join(lost)}, with {left}.")

    def _request(
        self, configuration: Configuration, folder: Path, *, held: bool = False
    ) -> TrialRequest:
        limits = self._limits(configuration)
        return request_of(configuration, self.subject, folder, held=held, limits=limits)

    def _plain_watch(self, epoch: Epoch = UNKNOWN) -> MeasureWatch:
        """Return a watch that times a run of which no trial is kept."""
        return MeasureWatch(left=lambda: self.budget.left, epoch=epoch)

    def _limits(self, configuration: Configuration) -> Limits:
        """Return what each phase may take: more where more was seen, all of them what is left.

        The first trial may take that in any phase, because nothing is known without it.
        """
        memory = None if self.most_memory is None else int(self.most_memory * 2**30)
        usual, costs, whole = Limits(memory=memory), self.history.costs, self.budget.most
        if self.history.baseline is None and math.isfinite(whole):
            return replace(usual, start=whole, first_step=whole, window=whole, whole=whole)
        first_call = costs.first_call(configuration)
        start = costs.start(configuration) - first_call
        return replace(
            usual,
            start=usual.start + start,
            first_step=usual.first_step + first_call,
            window=usual.window + costs.call(configuration),
            whole=whole,
        )


def request_of(
    configuration: Configuration,
    subject: Subject,
    folder: Path,
    *,
    held: bool = False,
    limits: Limits | None = None,
) -> TrialRequest:
    """Return the request for a run of a configuration, in a search or apart from any."""
    return trial_request(
        configuration,
        subject.workload,
        subject.facts,
        subject.machine,
        folder,
        seed=SCRIPT_SEED,
        held=held,
        fill=None if held else fill_of(configuration, subject),
        limits=limits or Limits(),
    )


class Certification:
    """Certifies what is about to win; a rejection in the history is not tried again."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._tried: dict[Configuration, list[Certificate | None]] = defaultdict(list)

    def certify(self, configuration: Configuration) -> None:
        """Certify a configuration, unless the answer is known."""
        if self._is_open(configuration):
            self._tried[family(configuration)].append(self._runner.certify(configuration))

    def _is_open(self, configuration: Configuration) -> bool:
        """Whether nothing was found of it; what a lost host has ended is tried once more."""
        tried = self.of(configuration) or len(self._tried[family(configuration)]) >= ATTEMPTS
        return not tried and not self._runner.history.ruled_out.rejected(configuration)

    def take(self, configuration: Configuration, certificate: Certificate) -> None:
        """Take what was found before."""
        self._tried[family(configuration)].append(certificate)

    def passed(self, configuration: Configuration) -> bool:
        """Whether it was looked into and may win."""
        certificate = self.of(configuration)
        return certificate is not None and not certificate.failures

    def of(self, configuration: Configuration) -> Certificate | None:
        return next(reversed(self._tried[family(configuration)]), None)

    def seconds(self, configuration: Configuration) -> float:
        """Return the time that certifying is expected to take; none where nothing is left to do."""
        costs, baseline = self._runner.history.costs, self._runner.history.baseline
        if baseline is None or not self._is_open(configuration):
            return 0.0
        return costs.seconds(configuration) + REFERENCE_RUNS * costs.seconds(baseline)
