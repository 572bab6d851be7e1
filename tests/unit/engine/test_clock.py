"""The clock counts steps and cuts them into windows."""

import threading
from typing import Any

import pytest

from autotune.engine.child import train as module
from autotune.engine.child.train import SHORTEST_WINDOW, Clock


class Report:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def write(self, event: str, **fields: object) -> None:
        self.events.append((event, fields))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class Time:
    """A clock that stands still until it is set."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def report() -> Report:
    return Report()


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(module, "time", time)
    return time


@pytest.fixture
def clock(report: Report) -> Clock:
    clock = Clock(report)
    clock.on_train_begin()
    return clock


def step(clock: Clock, time: Time, seconds: float, steps: int = 1, loss: object = 0.5) -> None:
    time.now += seconds
    clock.count(steps, {"loss": loss})


def test_training_begins_once_and_the_first_call_stands_alone(
    clock: Clock, report: Report, time: Time
) -> None:
    step(clock, time, 2.0, steps=4)
    clock.on_train_begin()
    first = ("first_step", {"steps": 4, "seconds": 2.0})
    assert report.events == [("train_begin", {}), first]


def test_a_window_tells_what_callbacks_took(report: Report, time: Time) -> None:
    """Not with what they took of the first call."""
    taken = [{"Watch": 9.0}, {"Watch": 0.5}, {}]
    clock = Clock(report, callbacks=lambda: taken.pop(0))
    clock.on_train_begin()
    for _ in range(3):
        step(clock, time, 1.0)
    assert [each[1].get("callbacks") for each in report.events[-2:]] == [{"Watch": 0.5}, None]


def test_a_window_is_as_long_as_it_must_be(clock: Clock, report: Report, time: Time) -> None:
    """Short steps are collected until the shortest window is full."""
    step(clock, time, 1.0)
    for _ in range(3):
        step(clock, time, SHORTEST_WINDOW * 0.4, steps=8)
    assert report.names == ["train_begin", "first_step", "window"]
    assert report.events[-1][1] == {
        "steps": 24,
        "seconds": pytest.approx(SHORTEST_WINDOW * 1.2),
    }


def test_windows_follow_one_another_without_gaps(clock: Clock, report: Report, time: Time) -> None:
    """Time between calls, such as the end of an epoch, lies inside a window."""
    for _ in range(4):
        step(clock, time, 0.25)
    seconds = [fields["seconds"] for name, fields in report.events if name != "train_begin"]
    assert sum(seconds) == pytest.approx(1.0)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_reported_once(
    clock: Clock, report: Report, time: Time, loss: float
) -> None:
    for value in (0.1, loss, loss):
        step(clock, time, 1.0, steps=2, loss=value)
    assert [fields for name, fields in report.events if name == "nan"] == [
        {"step": 4, "name": "loss", "value": str(loss)}
    ]


@pytest.mark.parametrize("logs", [None, {}, {"pair": [1, 2]}, {"accuracy": 1.0}])
def test_unusual_logs_are_accepted(
    clock: Clock, report: Report, time: Time, logs: dict[str, Any] | None
) -> None:
    """A step of the user's own may log anything, or nothing."""
    time.now += 1
    clock.count(1, logs)
    assert report.names == ["train_begin", "first_step"]


def test_the_device_is_waited_for_before_the_time_is_taken(
    clock: Clock, report: Report, time: Time
) -> None:
    class Lazy:
        def __float__(self) -> float:
            time.now += 5
            return 0.0

    step(clock, time, 1.0)
    step(clock, time, 1.0, loss=Lazy())
    assert report.events[-1] == ("window", {"steps": 1, "seconds": 6.0})


def test_threads_lose_no_steps(clock: Clock, report: Report, time: Time) -> None:
    step(clock, time, 1.0)

    def count() -> None:
        for _ in range(500):
            clock.count(1, None)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    step(clock, time, 1.0)
    assert report.events[-1][1]["steps"] == 2001
