"""A recommendation without its trials, which are most of it; the database takes them out."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class WithoutTrials(FunctionElement[str]):
    """A column of JSON, without the member `trials`."""

    type = Text()
    inherit_cache = True


@compiles(WithoutTrials, "sqlite")
def _sqlite(element: WithoutTrials, compiler: Any, **options: Any) -> str:
    return f"json_remove({compiler.process(element.clauses, **options)}, '$.trials')"


@compiles(WithoutTrials, "postgresql")
def _postgresql(element: WithoutTrials, compiler: Any, **options: Any) -> str:
    column = compiler.process(element.clauses, **options)
    return f"CAST(CAST({column} AS JSONB) - 'trials' AS TEXT)"
