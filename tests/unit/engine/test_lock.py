"""One search at a time on a machine."""

import fcntl
import os
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from autotune.engine import lock as module
from autotune.engine.lock import NAME, Claim, Holder, Wait, exclusive, flocked
from autotune.errors import EngineError, UsageError


@pytest.fixture(autouse=True)
def _own_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "PLACES", (tmp_path,))
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)


@pytest.fixture
def told() -> list[object]:
    return []


def locked(file: Path) -> bool:
    with file.open() as opened:
        return not flocked(opened.fileno())


def test_a_free_machine_is_taken_at_once(tmp_path: Path, told: list[object]) -> None:
    """Without a word, and let go of at the end, by an error too."""
    with suppress(KeyError), exclusive("mine", told.append):
        assert locked(tmp_path / NAME)
        raise KeyError
    assert not locked(tmp_path / NAME)
    assert told == []


def test_every_user_can_open_the_file(tmp_path: Path) -> None:
    """Whatever the mask of whoever came first."""
    before = os.umask(0o077)
    try:
        with exclusive("mine", print):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o666


@pytest.mark.parametrize(
    "text", ["", "nonsense", '{"pid": 1}', '{"pid": 1, "since": 1e300, "what": "x"}']
)
def test_a_holder_that_did_not_sign_is_waited_for(tmp_path: Path, text: str) -> None:
    """Its name is a courtesy; the lock is what counts."""
    (tmp_path / NAME).write_text(text)
    told: list[str] = []
    with (tmp_path / NAME).open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)

        def tell(notice: Wait | str) -> None:
            told.append(str(notice))
            fcntl.flock(holder, fcntl.LOCK_UN)

        with exclusive("mine", tell):
            pass
    assert told[0].startswith("Another search is running on this machine")


def test_what_another_user_wrote_cannot_steer_the_terminal() -> None:
    """Only printable characters are shown, and not too many."""
    shown = str(Holder(pid=1, since=0, what="\x1b[31m\n" + "x" * 1000))
    assert shown.isprintable()
    assert len(shown) < 200


@pytest.mark.parametrize(
    "trap",
    [
        Path.symlink_to,
        Path.hardlink_to,
        lambda file, _: os.mkfifo(file),
        lambda file, _: file.mkdir(),
    ],
    ids=["symlink", "hard link", "pipe", "folder"],
)
def test_a_trap_is_left_alone(
    tmp_path: Path,
    told: list[object],
    trap: Callable[[Path, Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a folder that all may write, the name may stand for something else: the next place."""
    victim, second = tmp_path / "victim", tmp_path / "second"
    victim.write_text("dear")
    victim.chmod(0o600)
    second.mkdir()
    trap(tmp_path / NAME, victim)
    monkeypatch.setattr(module, "PLACES", (tmp_path, second))
    with exclusive("mine", told.append):
        assert locked(second / NAME)
    assert victim.read_text() == "dear"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    assert told == []


def test_a_file_that_may_only_be_read_is_locked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody learns who holds it, and that is all."""
    (tmp_path / NAME).touch()
    monkeypatch.setattr(module, "_WAYS", (os.O_RDONLY,))
    with exclusive("mine", print):
        assert locked(tmp_path / NAME)
    assert (tmp_path / NAME).read_text() == ""


def test_without_any_place_the_search_goes_on(
    tmp_path: Path, told: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is told to take care of it."""
    monkeypatch.setattr(module, "PLACES", (tmp_path / "missing",))
    with exclusive("mine", told.append):
        pass
    assert len(told) == 1
    assert "run one at a time" in str(told[0])


def test_a_search_inside_a_search_is_refused(tmp_path: Path, told: list[object]) -> None:
    """It would wait for itself; afterwards the machine can be taken again."""
    with exclusive("outer", told.append):
        with pytest.raises(UsageError, match="already running"):
            exclusive("inner", told.append).__enter__()
        assert locked(tmp_path / NAME)
    with exclusive("next", told.append):
        assert locked(tmp_path / NAME)
    assert not told


def test_a_claim_waits_for_nobody_and_keeps_others_waiting(tmp_path: Path) -> None:
    """Who comes second is told of the first; claims of one search share the machine."""
    mine, again, other = (Claim(what) for what in ("mine", "mine", "other"))
    assert mine.take() is None
    assert again.take() is None
    assert "mine" in str(other.take())
    mine.release()
    mine.release()
    assert not locked(tmp_path / NAME)
    assert other.take() is None
    assert locked(tmp_path / NAME)
    other.release()


def test_the_latest_end_follows_from_the_budget() -> None:
    """That of the holder, if it has one; of any that wait, one gets the machine."""
    holder, first, second, endless = (Claim(f"search {n}", n) for n in (60, 100, 200, None))
    assert holder.take() is None
    waits = [each.take() for each in (first, second)]
    ends = [wait and wait.until and wait.until - time.time() for wait in waits]
    assert ends == [pytest.approx(60, abs=5)] * 2
    assert "at the latest" in str(waits[0])
    holder.release()
    assert second.take() is None
    assert first.take()
    second.release()
    assert endless.take() is None
    assert "at the latest" not in str(first.take())
    endless.release()


def test_a_stored_wait_is_read_that_has_a_place_in_a_queue() -> None:
    """Events of jobs are stored."""
    assert Wait.model_validate({"holder": None, "before": 2}) == Wait(holder=None)


def test_what_was_waited_is_told_as_past() -> None:
    """Not as what is still to come."""
    assert "waited 1 min so far" in str(Wait(holder=None, waited=61))
    assert "so far" not in str(Wait(holder=None, waited=59))


def test_a_search_of_the_same_name_does_not_share_the_machine() -> None:
    """Two terminals may tune the same model."""

    def tell(wait: Wait | str) -> None:
        raise EngineError(str(wait))

    # In another thread, because this one would wait for itself.
    with ThreadPoolExecutor(1) as pool, exclusive("mine", print):
        second = pool.submit(exclusive("mine", tell).__enter__)
        with pytest.raises(EngineError, match="Another search"):
            second.result()
