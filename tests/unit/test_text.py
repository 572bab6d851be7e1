"""Texts that people write and read."""

import pytest

from autotune import text
from autotune.config import Configuration, axes
from autotune.errors import UsageError
from autotune.strategies import in_short
from autotune.text import hint, parse_seconds

GROUP = {"strategy": "multi_worker_mirrored", "workers": 2}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "one device, batch 32"),
        ({"steps_per_execution": 8}, "one device, batch 32, 8 steps/call"),
        ({"strategy": "mirrored", "replicas_per_worker": 2}, "Mirrored x2, batch 2x32"),
        ({**GROUP, "shard_policy": "data"}, "MultiWorkerMirrored x2, batch 2x32, shard data"),
        ({**GROUP, "replicas_per_worker": 4}, "MultiWorkerMirrored x2 x4, batch 8x32"),
        ({"arguments": (("image_size", 96),)}, "one device, batch 32, image_size=96"),
        ({"prefetch": 0, "cache": "memory"}, "one device, batch 32, prefetch 0, cached in memory"),
        ({"xla": True}, "one device, batch 32, XLA"),
        (
            {"num_parallel_calls": 4, "private_threadpool_size": 1},
            "one device, batch 32, 4 parallel calls, 1 input thread",
        ),
    ],
)
def test_a_configuration_fits_a_line(fields: dict[str, object], expected: str) -> None:
    assert in_short(Configuration().but(**fields)) == expected


def test_every_axis_is_named() -> None:
    others = {"replicas_per_worker": 2, "workers": 2, "per_replica_batch": 64, "precision": "x"}
    for name in axes():
        changed = Configuration().model_copy(update={name: others.get(name, "mirrored")})
        assert in_short(changed) != in_short(Configuration())


@pytest.mark.parametrize(
    ("seconds", "clock", "roughly", "very_roughly"),
    [
        (0, "0:00", "0 s", "0 s"),
        (65.4, "1:05", "1 min 5 s", "1 min"),
        (3723, "1:02:03", "1 h 2 min", "1 h"),
        (90_000, "25:00:00", "1 d 1 h", "1 d"),
    ],
)
def test_lengths_of_time(seconds: float, clock: str, roughly: str, very_roughly: str) -> None:
    found = (text.clock(seconds), text.roughly(seconds), text.very_roughly(seconds))
    assert found == (clock, roughly, very_roughly)


def test_rates_and_sizes() -> None:
    assert [text.rate(each) for each in (12345.6, 100, 3.214)] == ["12,346", "100", "3.21"]
    sizes = [text.size(each) for each in (264, 2048, 25 * 2**30)]
    assert sizes == ["264 B", "2 KiB", "25 GiB"]


def test_a_reason_becomes_a_sentence() -> None:
    assert text.sentence("too few\n  cores") == "Too few cores."
    assert text.sentence("tf.data chose 2 batches") == "tf.data chose 2 batches."


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("3min", 180),
        ("3 min", 180),
        ("1h30min", 5400),
        ("2 hours", 7200),
        ("1.5m", 90),
        ("45", 45),
        (12.5, 12.5),
    ],
)
def test_usual_ways_of_writing(text: str | float, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "3 weeks", "-5s", "0", "3min!", "inf", "\u0663min", 0.0]
)
def test_anything_else_is_an_error(text: str | float) -> None:
    with pytest.raises(UsageError, match="Use a format such as 90s"):
        parse_seconds(text)


def test_a_name_that_resembles_others_suggests_them() -> None:
    """One that resembles none lists all that are known, or those that the caller chose to list."""
    assert hint("prefech", ["cache", "prefetch"]) == "Did you mean prefetch?"
    assert hint("work", ["works", "worker", "x"]) == "Did you mean works or worker?"
    assert hint("q", ["cache", "prefetch"]) == "Available: cache, prefetch."
    assert hint("q", []) == "Available: none."
