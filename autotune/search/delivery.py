"""Tries what is delivered beside the program that was timed, with what is left of the budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from autotune.config import Configuration
from autotune.program.patch import NO_PATCH, Patch, patch_for, program_of
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.allreduce import seconds_of_step
from autotune.search.findings import Findings
from autotune.search.request import Subject
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.strategies import strategy


def patch_of(chosen: Configuration, subject: Subject) -> Patch:
    """Return what to change in the user's script, if there is one."""
    script = subject.workload.script
    if script is None or script.notebook:
        return NO_PATCH
    try:
        text = Path(script.path).read_bytes().decode()
    except (OSError, ValueError):
        return Patch(why_not="The script cannot be read any more.")
    if "\r" in text:
        return Patch(why_not="The lines of the script end as on Windows.")
    return patch_for(script.path, text, chosen, subject.facts, subject.machine)


def tried(findings: Findings, runner: Runner, budget: Budget) -> Findings:
    """Return the findings with what the patch reaches, and what lies between two epochs.

    What there is no time for is left out.
    """
    chosen, costs = findings.recommended, runner.history.costs
    if findings.patch.text and costs.seconds(chosen) <= budget.left:
        findings = _with_patch(findings, runner)
    between = None
    if costs.seconds(chosen) <= budget.left and not strategy(chosen.strategy).asynchronous:
        between = runner.between_epochs(chosen)
    return replace(findings, between=between)


def _with_patch(findings: Findings, runner: Runner) -> Findings:
    """Run the changed script once; one that does not train is not delivered."""
    chosen, subject = findings.recommended, runner.subject
    script, fit = subject.workload.script, subject.facts.fit
    if script is None or fit is None:
        return findings
    program = program_of(
        script.path,
        script.arguments,
        findings.patch.changed,
        fit,
        chosen.steps_per_execution,
    )
    result = runner.changed(chosen, program)
    if result.outcome is Outcome.FAILED:
        why = f"The changed script does not train: {reason_text(result.reason)}"
        return replace(findings, patch=Patch(why_not=why))
    seconds = seconds_of_step(result)
    # Its cache fills while it trains, as that of a trial does before.
    if seconds is None or chosen.cache != "off":
        return findings
    rate = chosen.global_batch / seconds
    return replace(findings, patch_speed=rate / findings.examples_per_second.value)
