"""How much work a file makes, and what happens where it is too much."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from autotune.doctor import check
from autotune.doctor.check import check_paths, check_text, time_limit
from autotune.doctor.rules import rules
from autotune.doctor.source import Text

HEAD = """\
import threading
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
"""
TAIL = """
counter = tf.Variable(0)
@tf.function
def train_step(batch):
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    counter.assign(counter + ds.reduce(0, add))
    return strategy.run(train, args=(batch,))
def work():
    ds.apply(counter)
    ds.cache()
for _ in range(4):
    threading.Thread(target=work).start()
for batch in strategy.experimental_distribute_dataset(ds):
    print(float(train_step(batch)))
"""
AUTOTUNE = Path(check.__file__).parents[1]
FIRST = "tf.data.Dataset.from_tensor_slices(images)"


def rebound_under_conditions(lines: int) -> str:
    return "\n".join(f"if a{n}:\n    ds = ds.map(f{n}).apply(ds)" for n in range(lines))


def turned(lines: int) -> str:
    return "\n".join(f"ds, other = other.map(f{n}), ds.shuffle(n)" for n in range(lines))


def woven(lines: int) -> str:
    return "\n".join(f"ds = d{n} = d{(n * 7) % lines}.concatenate(ds.map(f))" for n in range(lines))


def member(lines: int) -> str:
    assigned = "\n".join(f"        self.ds = self.ds.map(f{n})" for n in range(lines))
    return f"class Input:\n    def __init__(self, ds):\n{assigned}\nds = Input(ds).ds"


def attribute(lines: int) -> str:
    return "\n".join(f"ds = ds.next{n}" for n in range(lines))


def doubled(lines: int) -> str:
    body = "\n".join(f"    loss{n + 1} = loss{n} + loss{n}" for n in range(lines))
    return f"for ds in data:\n    loss0 = train_step(ds)\n{body}\n    print(float(loss{lines}))"


def calls_to_check(content: str) -> int:
    """Return how many functions of the linter and its reader are called for a text."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        file = Path(frame.f_code.co_filename)
        count += event == "call" and file.is_relative_to(AUTOTUNE)

    sys.setprofile(note)
    try:
        check_text(Text(file="train.py", content=content), rules())
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "body", [rebound_under_conditions, turned, woven, member, attribute, doubled]
)
def test_sixty_lines_are_little_more_work_than_thirty(body: Callable[[int], str]) -> None:
    """Effort grows with the lines or their square; it doubled or worse with each line once."""
    thirty, sixty = (
        calls_to_check(f"{HEAD}ds = other = {FIRST}\n{body(lines)}\n{TAIL}") for lines in (30, 60)
    )
    assert sixty < 5 * thirty
    assert sixty < 500_000


def test_a_file_that_takes_too_long_is_told_and_the_rest_is_checked(
    folder: Path, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file counts as unread, and the limit is named."""
    (folder / "slow.py").write_text(bad)
    real = check.read_texts

    def endless(path: Path) -> list[Text]:
        while path.name == "slow.py":
            pass
        return real(path)

    monkeypatch.setattr(check, "read_texts", endless)
    monkeypatch.setattr(check, "FILE_LIMIT", 0.5)
    report = check_paths([Path("slow.py"), Path("bad.py")], rules())
    (trouble,) = report.troubles
    assert trouble.text.startswith("slow.py was given up after 0.5 seconds of computing.")
    assert not report.complete
    assert len(report.findings) == 1


def test_the_limit_ends_with_the_file() -> None:
    with time_limit(0.01, "train.py"):
        pass
    assert sum(range(2_000_000)) > 0
