"""What runs are worth, on beliefs that are written down."""

from typing import Any

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.search.posterior import Outlook
from autotune.search.savings import Choice, Prospects, choices

OWN = Configuration()
BATCH = Configuration(per_replica_batch=256)
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=16)
HOUR = 3600.0


def outlook(mean: list[float], sd: list[float], noise: float = 0.05, tells: float = 1.0) -> Outlook:
    """Return an outlook of independent configurations; a run tells a share of its covariance."""
    covariance = np.diag(np.square(sd))[None]
    return Outlook(
        mean=np.array([mean]),
        covariance=covariance,
        across=covariance * tells,
        shown=np.square([sd]),
        noise=np.full((1, len(mean)), noise**2),
    )


def prospects(seen: Outlook, **changes: Any) -> Prospects:
    count = seen.mean.shape[1]
    usual: dict[str, Any] = {
        "configurations": (OWN, BATCH, MIRRORED)[:count],
        "own": 0,
        "runs": np.array([1, 1, 1])[:count],
        "works": np.ones(count),
        "may_run": np.ones(count, bool),
        "seconds": np.full(count, 4.0),
        "certifying": np.array([0.0, 0.0, 10.0])[:count],
        "certified": np.zeros(count, bool),
        "own_works": True,
        "margin": 0.03,
        "training": HOUR,
    }
    return Prospects(outlook=seen, **(usual | changes))


def best(of: Prospects) -> Choice | None:
    """Return what pays most for its time; None where nothing pays."""
    paying = (each for each in choices(of) if each.saves > each.takes)
    return max(paying, key=lambda each: each.saves / each.takes, default=None)


def test_nothing_pays_for_a_training_that_is_shorter_than_a_run() -> None:
    hopeful = outlook([0.0, 1.0], [0.1, 1.0])
    assert best(prospects(hopeful, runs=np.array([1, 0]), training=3.0)) is None
    assert best(prospects(hopeful, runs=np.array([1, 0]))) is not None


def test_what_a_run_saves_follows_the_length_of_the_training() -> None:
    hopeful = outlook([0.0, 0.3], [0.05, 0.3])
    short, long = (
        best(prospects(hopeful, runs=np.array([1, 0]), training=each)) for each in (HOUR, 2 * HOUR)
    )
    assert short
    assert long
    assert long.saves == pytest.approx(2 * short.saves)


def test_a_run_that_tells_nothing_is_never_made() -> None:
    """However long the training is, and however little is known: a search has an end."""
    deaf = outlook([0.0, 0.01], [0.05, 0.5], tells=0.0)
    assert best(prospects(deaf, training=1e9)) is None


def test_a_certain_order_is_not_asked_for_again() -> None:
    assert best(prospects(outlook([0.0, 0.2], [0.001, 0.001]))) is None


def test_what_may_fail_is_worth_less() -> None:
    hopeful = outlook([0.0, 0.3], [0.05, 0.3])
    sure, doubtful = (
        best(prospects(hopeful, runs=np.array([1, 0]), works=np.array([1.0, each])))
        for each in (1.0, 0.5)
    )
    assert sure
    assert doubtful
    assert doubtful.saves == pytest.approx(sure.saves / 2)


def test_a_distributed_leader_is_made_sure_and_then_certified() -> None:
    doubtful = prospects(outlook([0.0, -0.5, 0.2], [0.05, 0.05, 0.2]))
    assert doubtful.leader == 2
    assert doubtful.plan == 0
    chosen = best(doubtful)
    assert chosen
    assert chosen.position in (0, 2)
    assert not chosen.certifies
    sure = prospects(outlook([0.0, -0.5, 0.2], [0.01, 0.01, 0.01]))
    assert sure.plan == 0
    assert (found := best(sure))
    assert (found.position, found.certifies) == (2, True)
    certified = prospects(sure.outlook, certified=np.array([False, False, True]))
    assert certified.plan == 2


def test_what_may_gain_much_is_confirmed_though_little_is_expected_of_it() -> None:
    """A gain of 1 % ± 10 % is no gain, and 6 hours are worth finding out."""
    doubtful = prospects(outlook([0.0, -0.5, 0.01], [0.07, 0.001, 0.07]), training=6 * HOUR)
    assert doubtful.plan == 0
    assert (chosen := best(doubtful))
    assert chosen.position in (0, 2)
    assert chosen.saves > (doubtful.times[0] - doubtful.times[2]) * doubtful.training
    assert best(prospects(doubtful.outlook, training=60.0)) is None


def test_what_runs_do_not_tell_is_not_confirmed() -> None:
    """As where the machine drifts more than two configurations differ: a search has an end."""
    deaf = outlook([0.0, -0.5, 0.1], [0.05, 0.001, 0.05], tells=0.0)
    assert best(prospects(deaf, training=1e6)) is None


def test_a_gain_below_the_margin_is_not_distributed_for() -> None:
    small = prospects(
        outlook([0.0, -0.5, 0.02], [0.001, 0.001, 0.001]), certified=np.array([0, 0, 1], bool)
    )
    assert small.leader == 2
    assert small.plan == 0
    assert best(small) is None


def test_no_decision_depends_on_the_unit_of_the_score() -> None:
    mean = [0.0, 0.3, 0.2]
    one, other = (
        best(prospects(outlook([m + shift for m in mean], [0.1, 0.2, 0.3]))) for shift in (0.0, 7.0)
    )
    assert one
    assert other
    assert one.position == other.position
    assert one.saves == pytest.approx(other.saves)


def test_own_settings_that_fail_are_not_recommended() -> None:
    failed = prospects(outlook([1.0, 0.0], [0.1, 0.1]), runs=np.array([0, 1]), own_works=False)
    assert failed.plan == 1
