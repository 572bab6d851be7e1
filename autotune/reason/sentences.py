"""Sentences for the kinds of reasons and answers; the table of them is `sentences.toml`."""

import signal
import tomllib
from pathlib import Path

from autotune.config import equal_parts
from autotune.disk import EXIT_CODE
from autotune.face import for_face
from autotune.reason import (
    Exited,
    HostLost,
    KernelKilled,
    Killed,
    KnownError,
    Phase,
    PlainReason,
    Reason,
    Rule,
    RuleKind,
    Seen,
    Uncertified,
)
from autotune.text import plural

_TABLE: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
RULES, CHECKS = _TABLE["rules"], _TABLE["checks"]
VERDICTS, BECAUSE = _TABLE["verdicts"], _TABLE["because"]
ENDINGS, NOT_TAKEN = _TABLE["endings"], _TABLE["not_taken"]
UNPREDICTABLE, BATCH_SOURCES = _TABLE["unpredictable"], _TABLE["batch_sources"]
REMEDIES, DECLARED_REMEDIES = _TABLE["remedies"], _TABLE["declared_remedies"]
OBSTACLES = _TABLE["obstacles"]


def reason_text(reason: Reason) -> str:
    """Return a reason in words: the sentence of its kind, with its data and what is made of it."""
    data = dict(reason.figures if isinstance(reason, PlainReason) else reason)
    process, where = data.get("process"), data.get("where")
    made = {
        "of": f"{process}: " if process else "",
        "the_process": process or "the process",
        "at": f" ({where})" if where else "",
        **{f"{name}_gib": data.get(name, 0) / 2**30 for name in ("used", "limit")},
        "machines": plural(data.get("needed", 0), "machine"),
        "times": {1: "once", 2: "twice"}.get(n := data.get("deaths", 0), f"{n} times"),
        "what": _what(reason),
    }
    return _template(reason.kind, data.get("phase")).format(**data, **made)


def check_text(seen: Seen) -> str:
    figures = dict(seen.figures)
    tiny = {
        f"{name}_tiny": f"{share * 100:.2g}%" if share < 0.001 else f"{share:.1%}"
        for name, share in seen.figures
        if isinstance(share, float)
    }
    why = reason_text(seen.reason) if seen.reason else ""
    return CHECKS[seen.kind].format(**figures, **tiny, why=why)


def rule_text(rule: Rule) -> str:
    if rule.kind is RuleKind.STRATEGY:
        return for_face(rule.text)
    size = f"{(rule.figure or 0) / 2**30:.1f} GiB"
    made = {"where": f" ({rule.text})" if rule.text else "", "size": size}
    made |= _division(rule.figure or 0, rule.replicas)
    return for_face(RULES[rule.kind].format(figure=rule.figure, text=rule.text, **made))


def _division(batch: int, replicas: int) -> dict[str, str]:
    nearest = replicas * equal_parts(batch, replicas)
    change = 100 * abs(nearest / batch - 1) if batch else 0.0
    return {
        "odd": "is odd" if replicas == 2 else f"is no multiple of {replicas}",
        "nearest": f"{nearest:,}",
        "change": f"{change:.{1 + (change >= 1)}g} % {'smaller' if nearest < batch else 'larger'}",
    }


def death(reason: Killed | Exited | KernelKilled) -> str:
    """Return the end of a process as the predicate of a sentence."""
    if isinstance(reason, Exited) and reason.code == EXIT_CODE:
        return "could not write its files: the disk is full or read-only, or the folder is gone"
    if isinstance(reason, Exited):
        return f"exited with code {reason.code} without a result"
    if isinstance(reason, KernelKilled):
        return "was killed by the kernel to free memory"
    try:
        return f"was killed by {signal.Signals(reason.signal).name}"
    except ValueError:
        return f"was killed by signal {reason.signal}"


def _template(kind: str, phase: Phase | None) -> str:
    by_phase = _TABLE.get(kind)
    return by_phase[phase or Phase.WHOLE] if by_phase else _TABLE["reasons"][kind]


def _what(reason: Reason) -> str:
    """Return what differs from case to case of a kind."""
    match reason:
        case Killed() | Exited():
            name = reason.process or "the process"
            return f"{name[0].upper()}{name[1:]} {death(reason)}"
        case HostLost(memory=True):
            return "Ray ended its agent because memory ran out"
        case HostLost(silent=silent):
            return f"no answer for {silent:g} s" if silent else "its agent ended"
        case KnownError(cause=cause):
            return _TABLE["causes"][cause]
        case Uncertified(findings=findings):
            return " ".join(map(check_text, findings))
    return ""
