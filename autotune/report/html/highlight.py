"""A program with its words marked for the style sheet."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashLexer, PythonLexer, YamlLexer

_LEXERS = {"py": PythonLexer, "slurm": BashLexer, "yaml": YamlLexer}


# A page that is fetched again at every event shows the same program each time.
@lru_cache(maxsize=16)
def marked(name: str, program: str) -> Markup:
    """Return a program as HTML; its text stays the same to the last line break.

    Args:
        name: Of its file, which tells the language.
        program: Its text.
    """
    lexer = _LEXERS[name.rpartition(".")[2]](stripnl=False, ensurenl=False)
    text: str = highlight(program, lexer, HtmlFormatter(nowrap=True))
    # The formatter ends every line, also one that was not.
    whole = text if program.endswith("\n") else text.removesuffix("\n")
    return Markup(whole)  # noqa: S704 - the formatter has escaped it
