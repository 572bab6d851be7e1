"""What a job has found: the verdict, how sure it is, why, and the program."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from markupsafe import Markup

from autotune.api.http.files import Part
from autotune.api.http.page.findings import Findings, findings
from autotune.api.values import address
from autotune.config import describe
from autotune.report.html.figure import Figure
from autotune.report.html.highlight import marked
from autotune.report.html.key_figures import key_figures
from autotune.report.words import in_short, rate_with_error, sentence
from autotune.result import Alternative, Result, Verdict
from autotune.result.files import MEANINGS


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of the configuration that is away from its default."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Unchanged:
    """What to set where the global batch has to stay as it was."""

    batch: int
    configuration: str
    rate: str
    share: str


@dataclass(frozen=True, kw_only=True)
class Program:
    """One of the programs."""

    name: str
    meaning: str
    """What it is for, as a sentence."""
    text: Markup


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file to fetch."""

    name: str
    address: str
    shown: bool
    """Whether a browser shows it, and does not only keep it."""


@dataclass(frozen=True, kw_only=True)
class VerdictView:
    """What was found."""

    verdict: Verdict
    meanwhile: bool
    """Whether what is recommended is so only until somebody knows more."""
    summary: str
    found: Findings
    """Why: the reasons, the certificate and the diagnosis."""
    figures: tuple[Figure, ...]
    configuration: str
    settings: tuple[Setting, ...]
    unchanged: Unchanged | None
    programs: tuple[Program, ...]
    downloads: tuple[Download, ...]
    interrupted: bool


def verdict_view(job_id: str, found: Result) -> VerdictView:
    """Return the view of a recommendation."""
    programs = {name: text for name, text in found.programs().items() if text}
    return VerdictView(
        verdict=found.verdict,
        meanwhile=found.verdict is Verdict.UNDECIDED,
        summary=found.summary,
        found=findings(found),
        figures=key_figures(found),
        configuration=in_short(found.config),
        settings=_settings(found),
        unchanged=_unchanged(found.unchanged_batch) if found.unchanged_batch else None,
        programs=tuple(
            Program(name=name, meaning=sentence(MEANINGS[name]), text=marked(name, text))
            for name, text in programs.items()
        ),
        downloads=tuple(_downloads(job_id, programs)),
        interrupted=found.interrupted,
    )


def _settings(found: Result) -> tuple[Setting, ...]:
    return tuple(
        Setting(name=name, value=str(value), meaning=describe(name))
        for name, value in found.config.changed().items()
    )


def _unchanged(found: Alternative) -> Unchanged:
    return Unchanged(
        batch=found.configuration.global_batch,
        configuration=in_short(found.configuration),
        rate=rate_with_error(found.examples_per_second),
        share=f"{found.share:.0%}",
    )


def _downloads(job_id: str, programs: Collection[str]) -> list[Download]:
    base = address(job_id)
    paths = {part.file: f"script?part={part}" for part in Part if part.file in programs}
    paths |= {f"config.{each}": f"config?format={each}" for each in ("yaml", "json", "toml")}
    paths |= {f"report.{each}": f"report?format={each}" for each in ("html", "md")}
    return [
        Download(name=name, address=f"{base}/{path}", shown=name.endswith(".html"))
        for name, path in paths.items()
    ]
