"""autotune against the alternatives, live, on the same space, machine and clock.

    python benchmarks/peers/compare.py --workloads digits lstm --seconds 150 --turns 4

Raw logs go to the results folder as JSON lines, and the page is rendered from them.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import truth
from contestants import CONTESTANTS, HERE, run
from job import ROOT, Job
from table import RUN, Run, write_page

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.run.local import LocalEngine
from autotune.space import candidates, load_space
from autotune.workload import Workload, factory_from_text

WORKLOADS = ("digits", "lstm", "python_input")
SOFTWARE = ("autotune", "tensorflow", "keras", "optuna", "keras-tuner", "ray")


def main() -> None:
    """Let everybody search, find out the truth, and write the page after each workload."""
    options = parse()
    # Factories are looked up relative to the project.
    os.chdir(ROOT)
    options.out.mkdir(parents=True)
    jobs = prepare(options)
    about = describe(options, jobs)
    (options.out / RUN).write_text(about.model_dump_json(indent=2), encoding="utf-8")
    for job in jobs:
        for name in options.contestants:
            say(f"{job.name}: {CONTESTANTS[name].title}")
            run(name, job)
        found = truth.arms(job.folder, known_good(options.known, job.name))
        say(f"{job.name}: the truth about {len(found)} configurations, {options.turns} times")
        truth.measure(job, found, options.turns)
        write_page(options.out, options.page)
    say(f"written: {options.page}; raw logs: {options.out}")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    now = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S")
    names = list(CONTESTANTS)
    add = parser.add_argument
    add("--workloads", nargs="+", default=WORKLOADS, help="examples; default: %(default)s")
    add("--contestants", nargs="+", default=names, choices=names, help="default: all")
    add("--seconds", type=float, default=150.0, help="limit of each search; default: %(default)s")
    add("--turns", type=int, default=4, help="runs behind the truth; default: %(default)s")
    add("--space", default=str(HERE / "space.yaml"), help="name or file; default: the peers' own")
    add("--seed", type=int, default=0, help="default: 0")
    add("--known", type=Path, help="JSON lines of {workload, configuration}: rivals for the best")
    add("--out", type=Path, default=ROOT / "autotune-out" / "peers" / now, help="a new folder")
    add("--page", type=Path, default=ROOT / "docs" / "benchmarks" / "peers.md")
    options = parser.parse_args()
    options.out, options.page = options.out.resolve(), options.page.resolve()
    options.known = options.known and options.known.resolve()
    return options


def prepare(options: argparse.Namespace) -> list[Job]:
    """Find out what can run here; the engine is gone again before anything is timed."""
    with LocalEngine() as engine:
        machine = engine.machine()
        return [prepared(name, options, engine, machine) for name in options.workloads]


def prepared(name: str, options: argparse.Namespace, engine: LocalEngine, machine: Machine) -> Job:
    """Return the job of one workload."""
    file = f"examples/{name}.py"
    workload = Workload(
        model=factory_from_text(f"{file}:model_fn"),
        dataset=factory_from_text(f"{file}:dataset_fn"),
    )
    facts = engine.inspect(workload)
    space = load_space(options.space)
    return Job(
        name=name,
        workload=workload,
        facts=facts,
        machine=machine,
        space=space,
        configurations=candidates(space, machine, facts, SearchOptions()).configurations,
        seconds=options.seconds,
        seed=options.seed,
        folder=options.out / name,
    )


def describe(options: argparse.Namespace, jobs: Sequence[Job]) -> Run:
    """Return what the page says about the comparison as a whole."""
    machine = jobs[0].machine
    return Run(
        date=datetime.now(UTC).date().isoformat(),
        machine=f"{machine} ({machine.processor})",
        versions={name: version(name) for name in SOFTWARE},
        workloads=tuple(options.workloads),
        contestants=tuple(options.contestants),
        space=jobs[0].space.name,
        sizes={job.name: len(job.configurations) for job in jobs},
        seconds=options.seconds,
        turns=options.turns,
        seed=options.seed,
    )


def known_good(file: Path | None, workload: str) -> list[Configuration]:
    """Return what is known from elsewhere to be fast, such as the best of an exhaustive table."""
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file else ()
    return [
        Configuration.model_validate(line["configuration"])
        for line in lines
        if line["workload"] == workload
    ]


def say(text: str) -> None:
    """Print what happens now."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)


if __name__ == "__main__":
    main()
