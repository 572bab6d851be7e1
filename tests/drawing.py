"""What a terminal shows."""

from io import StringIO

from rich.console import Console, RenderableType


def draw(what: RenderableType, width: int = 80) -> str:
    text = StringIO()
    Console(file=text, width=width, highlight=False).print(what)
    return text.getvalue()
