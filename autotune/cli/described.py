"""Help texts that quote the declaration of an axis."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption


class DescribedCommand(TyperCommand):
    """Fills `{axis}` in the help of its options with what the axis's declaration says.

    Only where the help is shown: the declarations take longer to import than the help to print.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        from autotune.config import axes, describe

        meanings = {name: describe(name) for name in axes()}
        for option in self.params:
            if isinstance(option, TyperOption) and option.help:
                option.help = option.help.format_map(meanings)
        super().format_help(ctx, formatter)
