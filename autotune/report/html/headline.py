"""The head of the page: the verdict, its figure, and what else fits one screen."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.report.html.figure import Figure
from autotune.report.html.key_figures import key_figures
from autotune.report.result import FAILURES
from autotune.report.words import in_short, one_line, sentence
from autotune.result import Result, Verdict
from autotune.sentences.reasons import reason_text


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What a reader sees first."""

    workload: str
    machine: str
    verdict: Verdict
    summary: str
    main: Figure | None
    """The figure that the verdict rests on."""
    others: tuple[Figure, ...]
    configuration: str
    reasons: tuple[str, ...]
    interrupted: bool


def headline(result: Result) -> Headline:
    """Return the head of a result's page."""
    figures = key_figures(result)
    return Headline(
        workload=result.workload.name,
        machine=str(result.machine),
        verdict=result.verdict,
        summary=one_line(result.summary),
        main=figures[0] if figures else None,
        others=figures[1:],
        configuration=in_short(result.config),
        reasons=_reasons(result),
        interrupted=result.interrupted,
    )


def _reasons(result: Result) -> tuple[str, ...]:
    """Return the grounds, without those that the table of failures gives."""
    told = [reason_text(trial.reason) for trial in result.trials if trial.outcome in FAILURES]
    rest = [each for each in result.reasons if not any(reason in each for reason in told)]
    return tuple(map(sentence, rest))
