"""The order for the process of a claimed job."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from autotune.api.isolation import Isolation
from autotune.api.settings import Settings
from autotune.api.values import ClaimedJob, Tuning
from autotune.api.work.checkouts import Checkouts
from autotune.api.workloads import Registered, Registry
from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.space import Space
from autotune.trial import Trial
from autotune.value import Scalar, Value

MOST_DEATHS = 2
"""A configuration during which a worker died so often is not run again."""
LAST_SECONDS = 15.0
"""A search that goes on after a crash gets at least this long, to decide from what it has."""
STUDY = "job"
"""Name of the study of every job; each is in a database of its own."""


class SearchOrder(Value):
    """What the child is to do; it does nothing before it has read this."""

    name: str
    model: str
    dataset: str
    model_arguments: tuple[tuple[str, Scalar], ...]
    dataset_arguments: tuple[tuple[str, Scalar], ...]
    space: str | Space
    options: SearchOptions
    out: Path
    engine: str
    isolation: Isolation = Isolation.AUTO
    kept: tuple[Trial, ...] = ()
    study: str | None = None
    """What their study was made for."""
    excluded: tuple[Configuration, ...] = ()


def order(
    claimed: ClaimedJob, registry: Registry, settings: Settings, checkouts: Checkouts
) -> SearchOrder:
    request = claimed.job
    workload = registry.find(request.workload)
    params = workload.validate(dict(request.params))
    workload.check_space(request.space, params)
    arguments = workload.arguments(params, request.space)
    return SearchOrder(
        name=f"job {claimed.job.id}",
        model=_here(workload.model, workload, checkouts),
        dataset=_here(workload.dataset, workload, checkouts),
        model_arguments=arguments.model,
        dataset_arguments=arguments.dataset,
        space=request.space,
        options=_options(request, claimed.used_seconds),
        out=folder(claimed, settings).absolute(),
        engine=settings.engine,
        isolation=settings.network,
        kept=claimed.kept if claimed.study else (),
        study=claimed.study,
        excluded=excluded(claimed.killers),
    )


def _here(text: str, workload: Registered, checkouts: Checkouts) -> str:
    if workload.commit is None or not text:
        return text
    files = checkouts.of(workload.commit)
    if files is None:
        raise FileNotFoundError(f"The files of commit {workload.commit.commit} are gone.")
    return str(files.absolute() / text)


def folder(claimed: ClaimedJob, settings: Settings) -> Path:
    return jobs_folder(settings) / claimed.job.id / str(claimed.token.attempt)


def jobs_folder(settings: Settings) -> Path:
    return settings.data / "jobs"


def excluded(killers: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
    deaths = Counter(killers)
    return tuple(each for each, count in deaths.items() if count >= MOST_DEATHS)


def _options(request: Tuning, used: float) -> SearchOptions:
    left = max(request.seconds - used, min(LAST_SECONDS, request.seconds))
    return request.options.model_copy(update={"budget": left})
