"""What was checked of a configuration, and where the time of its step goes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from autotune.certificate import Certificate, Finding
from autotune.diagnose.breakdown import Breakdown, Share
from autotune.diagnose.diagnosis import Diagnosis
from autotune.diagnose.sentences import where_it_goes, where_it_pays
from autotune.report.words import counted, distribution, sentence
from autotune.result import Result
from autotune.strategies import title


@dataclass(frozen=True, kw_only=True)
class CheckView:
    """A question with its answer."""

    finding: Finding
    name: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class CertificateView:
    """What was checked before a configuration could win."""

    summary: str
    checks: tuple[CheckView, ...]


@dataclass(frozen=True, kw_only=True)
class PartView:
    """A part of a step, as a bar: its ends are in per cent of the step."""

    name: str
    value: float
    low: float
    high: float
    told: str
    interval: str


@dataclass(frozen=True, kw_only=True)
class StepView:
    """A step, taken apart."""

    title: str
    milliseconds: str
    parts: tuple[PartView, ...]
    remarks: str
    """What limits it, and what would help."""


@dataclass(frozen=True, kw_only=True)
class DiagnosisView:
    """Where the time goes, and where distribution would begin to pay."""

    steps: tuple[StepView, ...]
    break_even: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The reasons of a recommendation, sorted by where they are shown."""

    why: tuple[str, ...]
    certificate: CertificateView | None
    diagnosis: DiagnosisView | None


def findings(found: Result) -> Findings:
    """Return what there is to show; a reason that a part of the page tells is told only there."""
    shown = [*_of_certificate(found.certificate), *_of_diagnosis(found.diagnosis)]
    return Findings(
        why=tuple(sentence(each) for each in found.reasons if not each.startswith(tuple(shown))),
        certificate=_certificate(found.certificate) if found.certificate else None,
        diagnosis=_diagnosis(found.diagnosis, found.reasons) if found.diagnosis else None,
    )


def _of_certificate(found: Certificate | None) -> tuple[str, ...]:
    return (found.line, *found.undecided) if found else ()


def _of_diagnosis(found: Diagnosis | None) -> Iterator[str]:
    """Yield the sentences with which reasons begin that tell a diagnosis."""
    if found is not None:
        yield from filter(None, (where_it_goes(step, name) for step, name in _steps(found)))
        yield from _break_even(found)


def _certificate(found: Certificate) -> CertificateView:
    passed = sum(each.finding is Finding.PASSED for each in found.checks)
    told = f"{passed} of {counted(len(found.checks), 'check')} passed."
    return CertificateView(
        summary=told,
        checks=tuple(
            CheckView(finding=each.finding, name=sentence(each.name)[:-1], sentence=each.sentence)
            for each in found.checks
        ),
    )


def _diagnosis(found: Diagnosis, reasons: Collection[str]) -> DiagnosisView | None:
    views = (_step(step, name, reasons) for step, name in _steps(found) if step.shares)
    steps, pays = tuple(views), tuple(_break_even(found))
    return DiagnosisView(steps=steps, break_even=pays) if steps or pays else None


def _steps(found: Diagnosis) -> Iterator[tuple[Breakdown, str]]:
    """Yield each step with the name that it has in the reasons."""
    yield found.one_device, "one device"
    if found.distributed:
        yield found.distributed, title(found.distributed.configuration)


def _break_even(found: Diagnosis) -> Iterator[str]:
    if found.break_even:
        yield from where_it_pays(found.break_even, title(found.break_even.configuration))


def _step(found: Breakdown, name: str, reasons: Collection[str]) -> StepView:
    told = where_it_goes(found, name) or ""
    remarks = (each[len(told) :].strip() for each in reasons if told and each.startswith(told))
    return StepView(
        title=sentence(distribution(found.configuration))[:-1],
        milliseconds=f"{found.milliseconds:.3g} ms",
        parts=tuple(map(_part, found.shares)),
        remarks=next(remarks, ""),
    )


def _part(found: Share) -> PartView:
    value, low, high = (
        round(100 * each, 1) for each in (found.share.value, found.share.low, found.share.high)
    )
    return PartView(
        name=sentence(found.part)[:-1],
        value=value,
        low=low,
        high=high,
        told=f"{value:.0f}%",
        interval=f"{low:.0f} to {high:.0f}%",
    )
