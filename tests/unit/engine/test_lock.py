"""One search at a time on a machine."""

from __future__ import annotations

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
from autotune.engine.folder import flocked
from autotune.engine.lock import NAME, Claim, Holder, Wait, exclusive
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


def claims(*seconds: float | None) -> list[Claim]:
    return [Claim(f"search {n}", each) for n, each in enumerate(seconds)]


def test_who_comes_first_gets_it_first() -> None:
    """However often the others ask meanwhile, and though one gives up."""
    holder, first, second, third = claims(None, None, None, None)
    assert holder.take() is None
    waits = [each.take() for each in (first, second, third)]
    assert [wait and wait.before for wait in waits] == [0, 1, 2]
    holder.release()
    assert third.take()
    assert second.take()
    first.release()  # It is tired of waiting.
    assert third.take()
    assert second.take() is None
    second.release()
    assert third.take() is None
    third.release()


def test_the_latest_time_follows_from_the_budgets() -> None:
    """That of the holder and of those before, if all have one."""
    holder, first, second, endless, last = claims(60, 100, 200, None, 5)
    holder.take()
    waits = [each.take() for each in (first, second, endless, last)]
    begins = [wait and wait.until and wait.until - time.time() for wait in waits]
    assert begins[:3] == [pytest.approx(n, abs=5) for n in (60, 160, 360)]
    assert begins[3] is None
    assert "the turn comes at" in str(waits[0])
    assert "2 others came before this one" in str(waits[2])
    assert "the turn comes at" not in str(waits[3])


def test_what_was_waited_is_told_as_past() -> None:
    """Not as what is still to come."""
    assert "waited 1 min so far" in str(Wait(holder=None, waited=61))
    assert "so far" not in str(Wait(holder=None, waited=59))


def test_a_place_whose_process_is_gone_keeps_nobody_waiting() -> None:
    """The kernel takes back what it held."""
    holder, first, second = claims(None, None, None)
    holder.take()
    first.take()
    assert second.take()
    os.close(first._file)
    holder.release()
    assert second.take() is None
    second.release()


def test_who_is_first_and_stopped_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-Z must not keep a free machine from all others."""
    holder, stopped, second = claims(None, None, None)
    holder.take()
    stopped.take()
    second.take()
    holder.release()
    assert second.take()
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.0)
    assert second.take() is None


def test_places_that_the_kernel_does_not_give_cost_only_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine is had all the same, and let go of."""
    monkeypatch.setattr(module.fcntl, "F_OFD_GETLK", -1)
    holder, other = claims(None, None)
    assert holder.take() is None
    assert other.take()
    holder.release()
    assert other.take() is None
    other.release()


def test_a_search_of_the_same_name_does_not_share_the_machine() -> None:
    """Two terminals may tune the same model."""

    def tell(wait: Wait | str) -> None:
        raise EngineError(str(wait))

    # In another thread, because this one would wait for itself.
    with ThreadPoolExecutor(1) as pool, exclusive("mine", print):
        second = pool.submit(exclusive("mine", tell).__enter__)
        with pytest.raises(EngineError, match="Another search"):
            second.result()
