"""The baseline: FastAPI alone, with the same queries on the same database.

    python -m benchmarks.service.bare DATABASE

It knows no keys, owners and turns, checks nothing, logs nothing, and hands the rows on as they
come: what the database keeps as text stays a text.
"""

from __future__ import annotations

import json
import logging
import secrets
import socket
import sys
import time
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy import Select, Update, create_engine, func, insert, select, update

from autotune.api.states import State
from autotune.api.store.reading import COLUMNS
from autotune.api.store.tables import events, jobs, trials

Row = dict[str, Any]


def create_app(database: str) -> FastAPI:
    """Return the application."""
    app = FastAPI()
    engine = create_engine(database)

    def rows(query: Select[Any]) -> list[Row]:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    @app.get("/v1/tunings/{job_id}")
    def one(job_id: str) -> Row:
        return rows(select(*COLUMNS).where(jobs.c.id == job_id))[0]

    @app.get("/v1/tunings")
    def listing() -> list[Row]:
        return rows(select(*COLUMNS).order_by(jobs.c.seq.desc()).limit(21))

    @app.get("/v1/tunings/{job_id}/trials")
    def some_trials(job_id: str) -> list[Row]:
        mine = (trials.c.job_id == job_id, trials.c.number > -1)
        return rows(select(trials).where(*mine).order_by(trials.c.number).limit(500))

    @app.get("/v1/tunings/{job_id}/recommendation")
    def recommendation(job_id: str) -> Row:
        return rows(select(jobs.c.state, jobs.c.recommendation).where(jobs.c.id == job_id))[0]

    @app.post("/v1/tunings", status_code=202)
    def submit(asked: dict[str, Any]) -> Row:
        made = {**_like(asked), "id": secrets.token_hex(12)}
        with engine.begin() as connection:
            connection.execute(insert(jobs).values(made))
            told = {"job_id": made["id"], "number": 1, "body": "{}", "at": made["created_at"]}
            connection.execute(insert(events).values(told))
        return made

    @app.post("/claims")
    def claim() -> Row:
        with engine.begin() as connection:
            return dict(connection.execute(_oldest()).mappings().one())

    return app


def _like(asked: dict[str, Any]) -> Row:
    """Return a job that has ended, so that no worker takes what nobody has checked."""
    return {
        "project": "bare",
        "workload": asked["workload"],
        "request": json.dumps(asked),
        "budget_seconds": asked["budget"],
        "state": State.CANCELLED,
        "attempt": 0,
        "events": 1,
        "trials": 0,
        "created_at": time.time(),
    }


def _oldest() -> Update:
    """Return what takes the job that has waited the longest."""
    oldest = select(func.min(jobs.c.seq)).where(jobs.c.state == State.QUEUED).scalar_subquery()
    taken = update(jobs).where(jobs.c.seq == oldest).values(state=State.CANCELLED)
    return taken.returning(jobs.c.id)


def main(database: str) -> None:
    """Serve on a free port and print the address."""
    # With its protocol named, or else answers wait for acknowledgements (TCP_NODELAY is not set).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        app = create_app(database)
        config = uvicorn.Config(
            app, log_config=None, log_level=logging.WARNING, access_log=False, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
