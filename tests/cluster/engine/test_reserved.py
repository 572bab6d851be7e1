"""A search on a cluster and one on a machine of it wait for each other."""

import threading

import pytest

from autotune.engine.lock import exclusive
from autotune.engine.ray import RayEngine
from tests.cluster.engine.nodes import Nodes
from tests.waiting import until

pytestmark = pytest.mark.real


def test_a_search_on_one_machine_alone_is_waited_for(nodes: Nodes) -> None:
    """It is named, and then waits itself until the cluster's has ended."""
    waited: list[object] = []
    told: list[object] = []
    with RayEngine(nodes.url) as engine:
        with exclusive("digits", lambda _: None):
            reserved = threading.Event()
            waiting = threading.Thread(target=_reserve, args=(engine, told, reserved))
            waiting.start()
            until(lambda: any("digits" in str(each) for each in told))
            assert not reserved.is_set()
        waiting.join(60)
        assert reserved.is_set()
        closing = threading.Timer(1.0, engine.close)
        closing.start()
        with exclusive("digits", waited.append):
            closing.join()
    assert any("on the cluster" in str(each) for each in waited)


def test_whoever_gives_up_keeps_nobody_waiting(nodes: Nodes) -> None:
    """Its agents end, though their engine was never entered."""

    def give_up(why: object) -> None:
        raise TimeoutError(str(why))

    mine = RayEngine(nodes.url)
    with (
        exclusive("digits", lambda _: None),
        pytest.raises(TimeoutError),
        mine.reserved("a look at the cluster", give_up),
    ):
        pass
    assert nodes.left() == []


def _reserve(engine: RayEngine, told: list[object], reserved: threading.Event) -> None:
    with engine.reserved("on the cluster", told.append):
        reserved.set()
