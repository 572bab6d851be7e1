"""The database's clock, so that the clocks of workers do not have to agree."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Float, or_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class Now(FunctionElement[float]):
    """Seconds since 1970 by the database's clock, at this moment, not at the transaction's."""

    type = Float()
    inherit_cache = True


@compiles(Now, "sqlite")
def _sqlite(element: Now, compiler: Any, **options: Any) -> str:
    del element, compiler, options
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Now, "postgresql")
def _postgresql(element: Now, compiler: Any, **options: Any) -> str:
    del element, compiler, options
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


def live(expires_at: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a lease lasts."""
    return expires_at > Now()


def lapsed(expires_at: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a lease is over or was never given."""
    return or_(expires_at.is_(None), expires_at <= Now())


def ahead(expires_at: ColumnElement[Any], lease_seconds: float) -> ColumnElement[bool]:
    """Whether a lease ends after any of today: it was given before the clock was put back."""
    return expires_at > Now() + 2 * lease_seconds
