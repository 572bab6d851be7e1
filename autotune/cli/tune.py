"""`autotune tune`: find the best configuration, and hand over its program."""

from __future__ import annotations

from pathlib import Path

from autotune.cli import options as take
from autotune.cli.values import pairs


def tune(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    model: take.Model,
    dataset: take.Dataset,
    space: take.Space = "auto",
    budget: take.Budget = "3min",
    max_trials: take.MaxTrials = None,
    seed: take.Seed = 0,
    margin: take.Margin = 0.03,
    diagnose: take.Diagnose = True,
    resume: take.Resume = False,
    dry_run: take.DryRun = False,
    global_batch: take.GlobalBatch = None,
    max_global_batch: take.MaxGlobalBatch = None,
    strategies: take.Strategies = None,
    workers: take.Workers = None,
    allow_asynchronous: take.AllowAsynchronous = False,
    model_arg: take.ModelArg = None,
    dataset_arg: take.DatasetArg = None,
    callbacks: take.Callbacks = None,
    engine: take.Engine = "local",
    out: take.Out = Path("autotune-out"),
    config: take.ConfigFile = None,
    script: take.ScriptFile = None,
    study: take.StudyName = None,
    storage: take.Storage = None,
    tensorboard: take.TensorBoard = None,
    json: take.Json = False,
) -> None:
    """Find out whether and how to distribute a training.

    Times short runs of the real training in fresh processes on this machine.
    Press Ctrl-C once to stop early and keep the results; --resume continues.
    """
    # Here, so that the help answers before all of this is imported.
    from autotune.cli.copies import Copies
    from autotune.cli.session import Session
    from autotune.options import options_from
    from autotune.workload import Workload, factory_from_text

    session = Session(
        workload=Workload(
            model=factory_from_text(model, pairs(model_arg or (), "--model-arg")),
            dataset=factory_from_text(dataset, pairs(dataset_arg or (), "--dataset-arg")),
            callbacks=factory_from_text(callbacks) if callbacks else None,
        ),
        space=space,
        options=options_from(
            {
                "budget": budget,
                "max_trials": max_trials,
                "margin": margin,
                "diagnose": diagnose,
                "seed": seed,
                "global_batch": global_batch,
                "max_global_batch": max_global_batch,
                "strategies": strategies,
                "workers": workers,
                "allow_asynchronous": allow_asynchronous,
            }
        ),
        out=out,
        study=study,
        storage=storage,
        resume=resume,
        copies=Copies(config=config, script=script),
        tensorboard=tensorboard,
        engine=engine,
        as_json=json,
    )
    session.show_card() if dry_run else session.search()
