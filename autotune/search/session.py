"""A search of one session, and the inspection of gradients before it tries another batch."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler

from autotune.config import Configuration
from autotune.engine.base import Engine, Limits
from autotune.engine.tasks import LearningRequest, trial_request
from autotune.events import Notice, Observer, Preparing
from autotune.learning import Learning, Unpredictable
from autotune.objective import Batches
from autotune.reason import Rule, RuleKind
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.setup import Subject, TuningRequest
from autotune.search.stopping import GRACE, INTERRUPTIONS, Budget, interruption
from autotune.search.study import Study
from autotune.space import Candidates

GRADIENT_SECONDS = 8.0
"""For which gradients are collected, so that they tell how a model learns at other batches."""
KEY = "learning"
"""Of the study's attribute that holds what was found of other batch sizes."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """Makes the trials of a search."""

    request: TuningRequest
    engine: Engine
    study: Study
    budget: Budget
    observer: Observer
    own: Configuration
    """One device with the user's own batch, at which gradients are inspected."""

    def begin(self, subject: Subject, found: Candidates) -> tuple[Subject, Candidates]:
        """Return both with what is known of other batches without an inspection."""
        batches, batch = subject.objective.batches, self.own.global_batch
        kept = self.study.kept(KEY)
        known = Learning.model_validate(kept) if kept else None
        if batches is Batches.ALIKE:
            return subject, found
        if batches is Batches.OWN or self.request.options.global_batch is not None:
            known = Learning(batch=batch)
        elif not known or known.batch != batch or known.refused is Unpredictable.NO_TIME:
            return subject, found
        return _knowing(known, subject, found)

    def run(self, subject: Subject, found: Candidates) -> Search:
        """Search as long as it pays, with an inspection of gradients where one does."""
        search = self._search(subject, found)
        while search.run():
            try:
                learning = inspected(search.runner, self.own, self.request.options.seed)
            except INTERRUPTIONS as exc:
                search.cut = interruption(exc)
                break
            self.study.keep(KEY, learning.model_dump(mode="json"))
            subject, found = _knowing(learning, subject, found)
            if not learning.refused and found.excluded:
                out = "where the gradients do not tell what an example teaches"
                text = f"Other batches than {learning.batch} are left out {out}."
                self.observer(Notice(text=text))
            search = self._search(subject, found)
        return search

    def _search(self, subject: Subject, found: Candidates) -> Search:
        """Return a search that goes on from all trials of the study."""
        options, study = self.request.options, self.study
        study.value = subject.scorer.value
        runner = Runner(
            self.engine,
            subject,
            study,
            folder=self.request.out / "trials" / study.name,
            budget=self.budget,
            observer=self.observer,
            most_memory=options.max_memory,
        )
        asks = subject.objective.batches is not Batches.ALIKE and not subject.facts.learning
        return Search(
            runner,
            found,
            options,
            inspection=inspection_seconds(runner, self.own) if asks else 0.0,
            sampler=self.request.sampler or _sampler_named(options.sampler, options.seed),
            pruner=self.request.pruner,
        )


def _sampler_named(name: str, seed: int) -> BaseSampler | None:
    """Return one of Optuna's samplers (`gp` needs torch), or None for the search's own, `auto`."""
    match name:
        case "tpe":
            return TPESampler(seed=seed, multivariate=True, group=True)
        case "random":
            return RandomSampler(seed=seed)
        case "gp":
            return GPSampler(seed=seed)
    return None


def _knowing(learning: Learning, subject: Subject, found: Candidates) -> tuple[Subject, Candidates]:
    """Return both with what is known of other batches, and only those of which anything is."""
    facts = subject.facts.model_copy(update={"learning": learning})
    subject = replace(subject, facts=facts)
    rule = Rule(kind=RuleKind.OTHER_BATCH, figure=learning.batch)
    return subject, found.only(subject.scorer.compares, rule)


def inspection_seconds(runner: Runner, configuration: Configuration) -> float:
    """Return the seconds of an inspection of gradients: step and gradient are compiled."""
    costs = runner.history.costs
    return costs.start(configuration) + costs.first_call(configuration) + GRADIENT_SECONDS


def inspected(runner: Runner, configuration: Configuration, seed: int) -> Learning:
    """Inspect what an example teaches at other batch sizes than that of one device."""
    batch, most = configuration.global_batch, inspection_seconds(runner, configuration)
    seconds = GRADIENT_SECONDS + min(runner.budget.left - most, 0.0)
    if seconds < 2.0:  # There would be too few gradients.
        return Learning(batch=batch, refused=Unpredictable.NO_TIME)
    runner.observer(Preparing(what=f"Inspecting the gradients at a batch of {batch}"))
    trials, subject = runner.folder.parent, runner.subject
    trials.mkdir(parents=True, exist_ok=True)
    trial = trial_request(
        configuration,
        subject.workload,
        subject.facts,
        subject.machine,
        Path(tempfile.mkdtemp(prefix="gradients-", dir=trials), "run"),
        seed=seed,
        limits=Limits(whole=min(2 * most + GRACE, runner.budget.most)),
    )
    return runner.engine.execute(LearningRequest(trial=trial, seconds=seconds))
