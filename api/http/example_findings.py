"""What the example of a recommendation tells in detail, made of the values that real ones hold."""

from __future__ import annotations

from autotune.certificate import Certificate, passed, undecided
from autotune.config import Configuration
from autotune.diagnose.break_even import BreakEven
from autotune.diagnose.breakdown import Breakdown, Part, Share
from autotune.diagnose.diagnosis import Diagnosis
from autotune.diagnose.sentences import where_it_goes, where_it_pays
from autotune.leaderboard import ITSELF, Entry
from autotune.measure import Interval
from autotune.result import Alternative
from autotune.run.engine import Outcome

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored",
    replicas_per_worker=2,
    per_replica_batch=128,
    reduction="one_device",
    steps_per_execution=8,
)
GANG = Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data")
ALONE_RATE, PAIR_RATE = 6374.0, 9051.0
"""Examples per second."""
NAME = "MirroredStrategy with 2 replicas"


def _interval(low: float, value: float, high: float) -> Interval:
    return Interval(low=low, value=value, high=high)


def _breakdown(
    configuration: Configuration, rate: float, shares: dict[Part, Interval]
) -> Breakdown:
    return Breakdown(
        configuration=configuration,
        milliseconds=round(1000 * configuration.global_batch / rate, 1),
        shares=tuple(Share(part=part, share=share) for part, share in shares.items()),
        fixed=_interval(0.05, 0.11, 0.17),
    )


GAIN = _interval(1.31, 1.42, 1.54)
CERTIFICATE = Certificate(
    checks=(
        passed("disjoint examples", "Its 2 replicas read 2,048 examples without overlap."),
        passed("equal batch sizes", "Every replica got 128 examples in each of 8 steps."),
        passed("equal replicas", "All 2 replicas hold the same weights after 8 steps."),
        undecided(
            "same result as one device",
            "Cannot tell within 8 steps whether it trains like one device: rounding or random "
            "numbers may account for 40% of the change in weights.",
        ),
    ),
    seconds=6.3,
)
STEP_ALONE = _breakdown(
    ALONE,
    ALONE_RATE,
    {
        Part.COMPUTE: _interval(0.76, 0.81, 0.86),
        Part.INPUT: _interval(0.10, 0.15, 0.20),
        Part.CALL: _interval(0.0, 0.04, 0.09),
    },
)
STEP_PAIR = _breakdown(
    PAIR,
    PAIR_RATE,
    {
        Part.COMPUTE: _interval(0.64, 0.70, 0.76),
        Part.SHARING: _interval(0.10, 0.16, 0.22),
        Part.EXCHANGE: _interval(0.08, 0.11, 0.14),
        Part.INPUT: _interval(0.0, 0.03, 0.08),
    },
)
BREAK_EVEN = BreakEven(configuration=PAIR, batch=_interval(33, 41, 52), farthest=1024)
DIAGNOSIS = Diagnosis(one_device=STEP_ALONE, distributed=STEP_PAIR, break_even=BREAK_EVEN)
UNCHANGED = Alternative(
    configuration=Configuration(steps_per_execution=8),
    examples_per_second=_interval(4190, 4480, 4790),
    share=0.495,
)
COMPARED = tuple(
    Entry(
        configuration=configuration,
        examples_per_second=_interval(0.95 * rate, rate, 1.05 * rate),
        speedup=gain,
        outcome=Outcome.MEASURED,
        runs=6,
        final=True,
    )
    for configuration, rate, gain in ((PAIR, PAIR_RATE, GAIN), (ALONE, ALONE_RATE, ITSELF))
)
_BATCH = (
    f"The global batch is {PAIR.global_batch} instead of {UNCHANGED.configuration.global_batch}, "
    "which trains differently: usually the learning rate of Adam is multiplied by about 2.8 and "
    "warmed up over the first epochs."
)
_SENTENCES = (
    CERTIFICATE.line,
    *CERTIFICATE.undecided,
    where_it_goes(STEP_ALONE, "one device"),
    where_it_goes(STEP_PAIR, NAME),
    *where_it_pays(BREAK_EVEN, NAME),
    _BATCH,
)
REASONS = tuple(filter(None, _SENTENCES))
