"""Writes every page that is made from the code: `python -m tools.docs.write`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from tools.docs import axes, commands, doctor, reference, strategies
from tools.docs.pages import ROOT, write

CONFIG, BUILT = "mkdocs.yml", "mkdocs.build.yml"
"""What people write, and the same with the pages below some of its heads."""
FENCE = "pymdownx.superfences.fence_code_format"
"""Draws Mermaid; the builder wants the function, by a tag that only its own reader knows."""


@cache
def pages() -> Mapping[str, str]:
    """Return every such page, by its name under `docs/`."""
    parts = (strategies, axes, commands, doctor, reference)
    return {name: text for part in parts for name, text in part.pages().items()}


def config() -> str:
    """Return the configuration of the site, with every page in its navigation."""
    found = yaml.safe_load((ROOT / CONFIG).read_text("utf-8"))
    names = list(pages())
    below: dict[str, list[Any]] = {
        "Strategies": [each for each in names if each.startswith("strategies/")],
        "Axes": [each for each in names if each.startswith("axes/")],
        "Python": [
            {head: [f"reference/{each}.md" for each in each_of]}
            for head, each_of in reference.sections().items()
        ],
    }
    _fill(found["nav"], below)
    made = yaml.safe_dump(found, sort_keys=False, allow_unicode=True)
    return made.replace(f"format: {FENCE}", f"format: !!python/name:{FENCE}")


def _fill(nav: list[Any], below: Mapping[str, list[Any]]) -> None:
    for head, inner in (pair for each in nav if isinstance(each, dict) for pair in each.items()):
        if isinstance(inner, list):
            inner.extend(below.get(head, ()))
            _fill(inner, below)


if __name__ == "__main__":
    write(pages())
    write({BUILT: config()}, ROOT)
