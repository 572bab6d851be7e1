"""A page that is read as a browser would read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

from autotune.checks.breakdown import Breakdown, Part, Share
from autotune.checks.diagnosis import BreakEven, Diagnosis
from autotune.report.html.page import page
from autotune.result import Result
from autotune.stats import Interval

VOID = {"meta", "link", "br", "img", "hr", "input", "wbr"}


@dataclass
class Element:
    """An element with what is in it."""

    name: str
    attributes: dict[str, str]
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)

    def find(self, name: str) -> Iterator[Element]:
        """Yield all elements of a name in it."""
        for each in self.inside:
            if isinstance(each, Element):
                if each.name == name:
                    yield each
                yield from each.find(name)


class Reader(HTMLParser):
    """Reads a page, and refuses one whose elements are not closed in their order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one that holds nothing."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Close the one that was opened last."""
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.open[-1].inside.append(data)


Read = Callable[[Result], Element]


@pytest.fixture
def read() -> Read:
    """Reads the page of a result."""

    def read(result: Result) -> Element:
        reader = Reader()
        reader.feed(page(result))
        reader.close()
        assert [each.name for each in reader.open] == [""], "something is not closed"
        return reader.open[0]

    return read


def around(value: float) -> Interval:
    return Interval(low=value * 0.8, value=value, high=value * 1.25)


@pytest.fixture
def diagnosed(result: Result) -> Result:
    """A result that knows where the time of its steps goes."""
    alone = Breakdown(
        configuration=result.trials[0].configuration,
        milliseconds=64.0,
        shares=(
            Share(part=Part.COMPUTE, share=around(0.75)),
            Share(part=Part.INPUT, share=around(0.25)),
        ),
    )
    pair = Breakdown(
        configuration=result.config,
        milliseconds=128.0,
        shares=(
            Share(part=Part.COMPUTE, share=around(0.5)),
            Share(part=Part.SHARING, share=around(0.3)),
            Share(part=Part.EXCHANGE, share=around(0.2)),
        ),
    )
    found = BreakEven(
        configuration=result.config, batch=around(300), farthest=512, bandwidth=around(2.5e8)
    )
    diagnosis = Diagnosis(one_device=alone, distributed=pair, break_even=found)
    return result.model_copy(update={"diagnosis": diagnosis})
