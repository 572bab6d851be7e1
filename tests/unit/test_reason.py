"""Reasons are kinds with data; nothing that is decided reads their sentences."""

import random
import string
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from autotune.answer import Because, Ended, NotTaken, Verdict
from autotune.axis import Remedy
from autotune.checks.remedies import Obstacle
from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.learning import Unpredictable
from autotune.options import SearchOptions
from autotune.reason import (
    Cause,
    CheckKind,
    KnownError,
    Message,
    Outcome,
    Phase,
    PlainReason,
    Raised,
    Reason,
    ReasonKind,
    Rule,
    RuleKind,
    Seen,
    sentences,
)
from autotune.reason.sentences import check_text, reason_text, rule_text
from autotune.result import Result
from autotune.result.headline import summary
from autotune.search.tune import TuningRequest, tune
from autotune.space import Space
from autotune.workload import BatchSource, Workload
from tests.answers import answer_of
from tests.engines.fake import FAKE_FACTS, FakeEngine

KINDS: dict[str, type[Any]] = {
    each.model_fields["kind"].default: each for each in get_args(Reason) if each is not PlainReason
}
ADAPTER: TypeAdapter[Reason] = TypeAdapter(Reason)
DATA: dict[str, Any] = {
    **dict.fromkeys(("code", "deaths", "left", "step", "needed"), 3),
    **dict.fromkeys(("replicas", "workers", "per_replica_batch", "global_batch"), 2),
    **dict.fromkeys(("error", "message", "name", "process", "text", "value"), "was lost"),
    **dict.fromkeys(("host", "shard_policy", "where"), "node7 (10.1.0.7)"),
    **dict.fromkeys(("most", "seconds", "share", "silent"), 0.25),
    **dict.fromkeys(("limit", "used"), 2**30),
    "cause": Cause.PORT_TAKEN,
    "findings": (Seen(kind=CheckKind.NO_RANDOM),),
    "memory": False,
    "phase": Phase.FIRST_STEP,
    "signal": 11,
}
"""Data of all kinds, by name."""
WORDS = {"name", "units", "title", "mine", "first"}
SHARES = {"share", "explained", "ratio"}
SPACE = Space(
    strategies=("one_device", "mirrored", "multi_worker_mirrored"),
    axes={
        "per_replica_batch": (32, 512),
        "steps_per_execution": (1,),
        "replicas_per_worker": (2,),
        "workers": (2,),
        "shard_policy": ("data",),
    },
)


@pytest.mark.parametrize("kind", [*KINDS, *ReasonKind])
def test_every_kind_has_a_sentence_and_survives_its_json(kind: str) -> None:
    """With its data, and none is a template; a study and the service keep reasons as JSON."""
    fields = KINDS[kind].model_fields if kind in KINDS else DATA.keys() - {"findings"}
    data = {name: DATA[name] for name in fields if name != "kind"}
    reason: Reason = KINDS.get(kind, PlainReason)(kind=kind, **data)
    text = reason_text(reason)
    assert len(text.split()) > 1
    assert "{" not in text
    kept = ADAPTER.dump_json(reason)
    assert ADAPTER.validate_json(kept) == ADAPTER.validate_json(kept, extra="ignore") == reason
    assert all(reason_text(KnownError(cause=cause)).endswith(".") for cause in Cause)


def test_a_reason_of_an_earlier_version_is_read() -> None:
    """Its figures stood beside its kind."""
    kept = ADAPTER.validate_python({"kind": "slower", "most": 0.5}, extra="ignore")
    assert kept == PlainReason(kind=ReasonKind.SLOWER, most=0.5)
    assert reason_text(kept) == "reaches at most 50% of what one device does"


@pytest.mark.parametrize("kind", list(RuleKind))
def test_every_rule_has_a_sentence(kind: RuleKind) -> None:
    text = rule_text(Rule(kind=kind, figure=2**31, text="the machine has 2 GPUs"))
    assert len(text.split()) > 3
    assert "{" not in text


@pytest.mark.parametrize("kind", list(CheckKind))
def test_every_kind_of_check_has_a_sentence(kind: CheckKind) -> None:
    fields = (field for _, field, _, _ in string.Formatter().parse(sentences.CHECKS[kind]))
    names = {name.removesuffix("_tiny") for name in fields if name and name != "why"}
    figures = {n: n if n in WORDS else 0.25 if n in SHARES else 3 for n in names}
    seen = Seen(kind=kind, figures=tuple(figures.items()), reason=Message(text="It hung."))
    assert len(check_text(seen).split()) > 3


def test_every_sentence_of_the_table_is_of_a_kind() -> None:
    """None is left of what was taken away."""
    assert sentences.CHECKS.keys() == set(CheckKind)
    assert sentences.RULES.keys() == set(RuleKind) - {RuleKind.STRATEGY}
    assert sentences._TABLE["causes"].keys() == set(Cause)
    assert sentences._TABLE["reasons"].keys() == {*KINDS, *ReasonKind} - {"budget_ended", "overdue"}
    assert sentences.VERDICTS.keys() == set(Verdict)
    assert sentences.BECAUSE.keys() == set(Because)
    assert sentences.ENDINGS.keys() == set(Ended) - {Ended.PAID}
    assert sentences.NOT_TAKEN.keys() == set(NotTaken)
    assert sentences.UNPREDICTABLE.keys() == set(Unpredictable)
    assert sentences.BATCH_SOURCES.keys() == set(BatchSource) - {BatchSource.OPTION}
    assert sentences.OBSTACLES.keys() == set(Obstacle) - {Obstacle.UNDECLARED}
    assert sentences.REMEDIES.keys() | sentences.DECLARED_REMEDIES.keys() == set(Remedy)


@pytest.mark.parametrize("because", list(Because))
def test_every_conclusion_has_a_sentence(because: Because) -> None:
    own = Configuration()
    text = summary(
        Result.model_construct(
            configuration=own,
            answer=answer_of((), own, own, because=because),
            facts=FAKE_FACTS,
            trials=(),
        )
    )
    assert text.endswith(".")
    assert "{" not in text


def truth(configuration: Configuration) -> float | Stop:
    """One strategy always fails, and nothing is as fast as a large batch on one device."""
    if configuration.strategy == "multi_worker_mirrored":
        return Stop(outcome=Outcome.FAILED, reason=Raised(error="OSError", message="no room"))
    fast = configuration.per_replica_batch == 512 and not configuration.distributed
    return (100_000.0 if fast else 1_000.0) * configuration.steps_per_execution**0.1


def search(workload: Workload, folder: Path) -> tuple[Result, Result]:
    found = []
    for resume, count in ((False, 12), (True, 40)):
        request = TuningRequest(
            workload=workload,
            space=SPACE,
            options=SearchOptions(
                objective="max_throughput", max_trials=count, budget=2000.0, max_global_batch=512
            ),
            out=folder,
            resume=resume,
        )
        found.append(tune(request, FakeEngine(truth, between=0.02, seed=3)))
    return found[0], found[1]


def decided(result: Result) -> Any:
    """Return all that was decided, without anything that takes another time.

    The bound in a reason depends on the time of day in its last digits.
    """
    trials = [
        (t.stage, t.configuration, t.outcome, t.examples_per_second, t.reason.kind)
        for t in result.trials
    ]
    answer = result.answer
    return answer.verdict, answer.because, result.configuration, answer.distributed_gain, trials


def test_no_decision_depends_on_the_wording(
    workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search, its resumption and its verdict are the same where every sentence is gibberish."""
    plain = search(workload, tmp_path / "plain")
    told = [reason_text(each.reason) for each in plain[0].trials]
    noise = random.Random(0)
    letters = string.ascii_letters + ".: "

    def gibberish(*_: object) -> str:
        return "".join(noise.choices(letters, k=40))

    monkeypatch.setattr(sentences, "_template", gibberish)
    monkeypatch.setattr(sentences, "RULES", {kind: gibberish() for kind in RuleKind})
    odd = search(workload, tmp_path / "odd")
    assert [decided(each) for each in odd] == [decided(each) for each in plain]
    assert told != [reason_text(each.reason) for each in plain[0].trials]
