"""Programs in which a rule finds something, or nothing, as the modules of `forms` hold them.

A program follows its name, `#: name`. A word in capitals stands for the text of that name in its
module: on a line of its own with the indentation, and with another name for `seen` behind it.
"""

import re
import textwrap
from types import ModuleType

from autotune.doctor.check import check_text
from autotune.doctor.rule import HERE
from autotune.doctor.rules import rules
from autotune.doctor.source import Text

NAMED = re.compile(r"^#: (.+)\n((?:(?!#[:=] ).*\n)*)((?:#= .*\n)*)", re.MULTILINE)
ALONE = re.compile(r"^( *)([A-Z\d]+)(?: (\S+))?$", re.MULTILINE)
WITHIN = re.compile(r"\b[A-Z\d]+\b")
NEWEST = (2, 21)


def found(code: str, head: str = "", target: tuple[int, int] = NEWEST) -> list[tuple[str, int]]:
    """Return the rules that find something, each with the line below the head."""
    text = Text(file="train.py", content=head + textwrap.dedent(code))
    lines = head.count("\n")
    return [(it.rule, it.place.line - lines) for it in check_text(text, rules(), target).findings]


def marked(code: str) -> list[int]:
    return [n for n, line in enumerate(code.split("\n"), start=1) if line.endswith(HERE)]


def programs(module: ModuleType, member: str) -> list[tuple[str, str, str]]:
    """Return the name of each program, its text, and the lines below it that begin with `#=`."""
    return NAMED.findall(getattr(module, member))


def filled(code: str, module: ModuleType) -> str:
    """Return a program without words that stand for something."""
    words = {name: str(text).strip("\n") for name, text in vars(module).items() if name.isupper()}

    def whole(match: re.Match[str]) -> str:
        indent, word, name = match.groups()
        if word not in words:
            return match[0]
        text = ALONE.sub(whole, words[word])
        return textwrap.indent(text.replace("seen", name) if name else text, indent)

    def part(match: re.Match[str]) -> str:
        return words.get(match[0], match[0])

    return WITHIN.sub(part, ALONE.sub(whole, code))
