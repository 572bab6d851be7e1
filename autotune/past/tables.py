"""The tables of the database of past measurements."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import Field, MetaData, Session, SQLModel


class Table(SQLModel):
    """Base of the tables, apart from those that the user's own code may declare with SQLModel."""

    metadata: ClassVar[MetaData] = MetaData()


class SessionRow(Table, table=True):
    """A search; the fields are those of `Session`."""

    __tablename__ = "session"

    id: str = Field(primary_key=True)
    ended: float = Field(index=True)
    machine: str
    workload: str
    autotune: str
    tensorflow: str
    keras: str
    noise_sd: float | None = None
    noise_degrees: float | None = None


class MeasuredRow(Table, table=True):
    """A trial; the fields are those of `Measured`."""

    __tablename__ = "measured"

    number: int | None = Field(default=None, primary_key=True)
    session: str = Field(foreign_key="session.id", index=True)
    configuration: str
    """JSON."""
    examples_per_second: float
    stage: str
    pruned: bool


def make_tables(database: Session) -> None:
    """Make the tables where they are missing; two processes may do so at once."""
    for table in Table.metadata.sorted_tables:
        database.connection().execute(CreateTable(table, if_not_exists=True))
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            database.connection().execute(CreateIndex(index, if_not_exists=True))
