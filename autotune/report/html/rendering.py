"""Templates, filters and the one style sheet of everything in HTML; nothing in a view is markup."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashLexer, PythonLexer, YamlLexer

from autotune.reason.sentences import reason_text
from autotune.strategies import in_short
from autotune.wording import rate, rate_with_error, sentence, share

STYLE, SCRIPT = "style.css", "script.js"
"""The style sheet of report and service's page, and the script that copies programs."""
_TICKED = re.compile(r"`([^`\n]+)`")
_LEXERS = {"py": PythonLexer, "slurm": BashLexer, "yaml": YamlLexer}


@cache
def environment(*packages: str) -> Environment:
    """Return what renders the fragments, and the templates of some packages with them.

    Args:
        packages: Each has a folder `templates`.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in (*packages, __package__ or "")]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    made.filters |= {
        "coded": coded,
        "highlighted": highlighted,
        "in_short": in_short,
        "rate": rate,
        "rate_with_error": rate_with_error,
        "ratio": share,
        "reason": reason_text,
        "said": sentence,
    }
    return made


@cache
def part(name: str) -> Markup:
    """Return the text of the style sheet or the script."""
    text = (files(__package__) / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704 - a file of ours


def coded(text: str) -> Markup:
    """Return a sentence as HTML, what stands in backticks as code."""
    # What is escaped already keeps its backticks, and nothing else is let through.
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


# A page that is fetched again at every event shows the same program each time.
@lru_cache(maxsize=16)
def highlighted(program: str, name: str) -> Markup:
    """Return a program as HTML; its text stays the same to the last line break.

    Args:
        program: Its text.
        name: Of its file, which tells the language.
    """
    lexer = _LEXERS[name.rpartition(".")[2]](stripnl=False, ensurenl=False)
    text: str = highlight(program, lexer, HtmlFormatter(nowrap=True))
    # The formatter ends every line, also one that was not.
    whole = text if program.endswith("\n") else text.removesuffix("\n")
    return Markup(whole)  # noqa: S704 - the formatter has escaped it
