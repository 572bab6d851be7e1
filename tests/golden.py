"""Programs that stand for all that can be rendered: tests compare, format, lint and run them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.program import cluster_files, render
from autotune.result.files import write_program
from autotune.workload import (
    Factory,
    FitData,
    FitFacts,
    OwnStrategy,
    Returned,
    Script,
    Workload,
    WorkloadFacts,
    script_workload,
)
from autotune.workload.source import Source
from tests.engines.fake import fake_learning

CPUS = Machine(hosts=(Host(cpus=2, memory=2**34, processor="x"),))
CLUSTER = CPUS.model_copy(update={"tensorflow": "2.21.0"})
GPUS = Machine(hosts=(Host(cpus=16, memory=2**34, processor="x", gpus=("A", "B", "C", "D")),))
TPU = Machine(hosts=(Host(cpus=96, memory=2**38, processor="x", tpus=8),))


def imported(name: str, module: str = "toy", **arguments: bool | float | str) -> Factory:
    """Return a factory of the programs that the integration tests run."""
    return Factory(name=name, module=module, root="programs", arguments=tuple(arguments.items()))


TOY = Workload(model=imported("model_fn"), dataset=imported("dataset_fn"))
BATCHED = Workload(model=imported("model_fn"), dataset=imported("batched"))
HANDED = Workload(model=imported("model_fn"), dataset=imported("handing_over"))
CUSTOM = Workload(
    model=imported("model_fn", "custom"),
    dataset=imported("dataset_fn", "custom"),
    callbacks=imported("callbacks_fn", "custom", fast=True),
)
DOTTED = Workload(model=imported("Unbuilt.make"), dataset=imported("regression"))
NETWORK = """\
import keras


RATE = 0.5


def network(units):
    layers = [keras.Input((8,)), keras.layers.Dropout(RATE), keras.layers.Dense(units)]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse")
    return model"""
NUMBERS = """\
import tensorflow as tf


def numbers():
    return tf.data.Dataset.from_tensors((tf.zeros(8), tf.ones(1))).repeat(count)"""
BY_VALUE = Workload(
    model=Factory(
        name="main.<locals>.<lambda>",
        source=Source(text=NETWORK, expression="lambda: network(1)"),
    ),
    dataset=Factory(
        name="main.<locals>.numbers",
        source=Source(text=NUMBERS, expression="numbers", missing=("count",)),
    ),
)

SCRIPT = script_workload(Script(path="programs/whole.py", arguments=("--units", "8")))
NOTEBOOK = script_workload(Script(path="whole.ipynb", notebook=True, fit=7))
FACTS = WorkloadFacts(examples=64)
OF_SCRIPT = WorkloadFacts(
    examples=64, dataset_takes=("batch_size",), fit=FitFacts(line=12, data=FitData.ARRAYS)
)
MAKES_STRATEGY = FitFacts(
    line=12,
    data=FitData.ARRAYS,
    own_strategy=OwnStrategy(title="MirroredStrategy", line=5, replicas=2),
)
LEARNED = WorkloadFacts(examples=64, learning=fake_learning(64.0))
IN_CONTEXT = WorkloadFacts(examples=64, dataset_takes=("input_context",))
IN_BATCHES = WorkloadFacts(
    examples=64,
    model_takes=("units",),
    dataset_takes=("batch_size", "num_parallel_calls", "scale"),
)
TWO_WORKERS = Configuration(strategy="multi_worker_mirrored", workers=2, per_replica_batch=4)
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=4)
SERVED = Configuration(
    strategy="parameter_server", workers=2, servers=1, per_replica_batch=4, shard_policy="data"
)
ONE = Configuration(per_replica_batch=8)

CASES: dict[str, tuple[Configuration, Workload, WorkloadFacts]] = {
    "one_device": (ONE, TOY, FACTS),
    "one_device_all_options": (
        ONE.but(
            steps_per_execution=3,
            prefetch=2,
            private_threadpool_size=2,
            cache="memory",
            intra_op_parallelism_threads=1,
            xla=True,
        ),
        TOY,
        WorkloadFacts(examples=None),
    ),
    "one_device_custom": (ONE, CUSTOM, IN_CONTEXT),
    "mixed_bfloat16": (ONE.but(precision="mixed_bfloat16"), DOTTED, FACTS),
    "batch_size": (MIRRORED.but(reduction="one_device", prefetch=0), BATCHED, IN_BATCHES),
    "arguments": (
        ONE.but(num_parallel_calls=2, arguments=(("scale", 2.0), ("units", 32))),
        BATCHED,
        IN_BATCHES,
    ),
    "mirrored_fit": (MIRRORED.but(reduction="one_device"), TOY, FACTS),
    "mirrored_loop": (MIRRORED.but(steps_per_execution=5), TOY, FACTS),
    "mirrored_loop_unbuilt": (MIRRORED.but(steps_per_execution=2), DOTTED, FACTS),
    "by_value": (MIRRORED.but(reduction="hierarchical"), BY_VALUE, FACTS),
    "cache_in_file": (MIRRORED.but(steps_per_execution=2, cache="file"), DOTTED, FACTS),
    "cache_handed": (
        ONE.but(cache="memory"),
        HANDED,
        WorkloadFacts(examples=64, dataset_takes=("cache",)),
    ),
    "cache_shuffled": (
        MIRRORED.but(cache="memory"),
        TOY,
        WorkloadFacts(examples=64, shuffle_buffer=16),
    ),
    "arrays": (
        ONE,
        TOY,
        WorkloadFacts(examples=64, returned=Returned(arguments=True, arrays=True, beside=True)),
    ),
    "by_python": (
        ONE.but(py_dataset_workers=2),
        TOY,
        WorkloadFacts(examples=64, returned=Returned(by_python=True)),
    ),
    "uneven_batches": (
        MIRRORED,
        BATCHED,
        IN_BATCHES.model_copy(update={"returned": Returned(uneven=True)}),
    ),
    "unbatched": (
        TWO_WORKERS.but(shard_policy="source"),
        CUSTOM,
        IN_CONTEXT.model_copy(update={"returned": Returned(unbatched=True)}),
    ),
    "workers_data": (TWO_WORKERS.but(shard_policy="data", steps_per_execution=3), TOY, FACTS),
    "workers_source": (
        TWO_WORKERS.but(shard_policy="source", reduction="ring"),
        CUSTOM,
        IN_CONTEXT,
    ),
    "script": (ONE, SCRIPT, OF_SCRIPT),
    "script_eager": (
        ONE.but(steps_per_execution=8),
        SCRIPT,
        OF_SCRIPT.model_copy(
            update={
                "eager": True,
                "batch_callbacks": ("Watch",),
                "fit": FitFacts(line=12, data=FitData.ARRAYS, eager=11),
            }
        ),
    ),
    "script_loop": (MIRRORED.but(steps_per_execution=8), SCRIPT, OF_SCRIPT),
    "script_workers": (TWO_WORKERS.but(shard_policy="data"), SCRIPT, OF_SCRIPT),
    "notebook": (
        MIRRORED.but(reduction="one_device"),
        NOTEBOOK,
        OF_SCRIPT.model_copy(update={"fit": FitFacts(line=7, data=FitData.DATASET)}),
    ),
    "script_strategy": (
        ONE.but(steps_per_execution=3),
        SCRIPT,
        OF_SCRIPT.model_copy(update={"fit": MAKES_STRATEGY}),
    ),
    "servers_data": (SERVED.but(steps_per_execution=3), TOY, FACTS),
    "servers_source": (
        SERVED.but(
            shard_policy="source", intra_op_parallelism_threads=1, private_threadpool_size=1
        ),
        CUSTOM,
        IN_CONTEXT,
    ),
    "scaled_rate": (ONE.but(per_replica_batch=128), CUSTOM, LEARNED),
    "scaled_rate_script": (
        ONE.but(per_replica_batch=128),
        SCRIPT,
        OF_SCRIPT.model_copy(update={"learning": fake_learning(64.0)}),
    ),
    "scaled_rate_workers": (
        TWO_WORKERS.but(shard_policy="data", per_replica_batch=64),
        TOY,
        LEARNED,
    ),
    "scaled_rate_servers": (SERVED.but(per_replica_batch=128), TOY, LEARNED),
    "scaled_schedule": (MIRRORED.but(steps_per_execution=8, per_replica_batch=64), TOY, LEARNED),
}


def deliver(path: Path, text: str, launch: str | None = None) -> Path:
    """Write a program, the modules that it imports, and its launcher; return the file to run."""
    write_program(path, text)
    if launch is None:
        return path
    path.with_name("launch.py").write_text(launch, encoding="utf-8")
    return path.with_name("launch.py")


@cache
def golden_texts() -> dict[str, str]:
    texts: dict[str, str | None] = {}
    for name, case in CASES.items():
        texts[f"{name}.py"] = render(*case, CPUS).train
    for suffix, name in {"": "workers_data", "_servers": "servers_data"}.items():
        texts[f"launch{suffix}.py"] = render(*CASES[name], CPUS).launch
        for file, text in cluster_files(CASES[name][0], CLUSTER).items():
            texts[file.replace(".", f"{suffix}.")] = text
    gpus = TWO_WORKERS.but(replicas_per_worker=2, reduction="nccl", xla=True)
    gang = render(gpus, TOY, FACTS, GPUS)
    texts |= {"workers_gpus.py": gang.train, "launch_gpus.py": gang.launch}
    texts["launch_servers_gpus.py"] = render(SERVED, TOY, FACTS, GPUS).launch
    # It was never run: there is no TPU to run it on.
    tpu = Configuration(
        strategy="tpu", replicas_per_worker=8, per_replica_batch=16, steps_per_execution=8
    )
    texts["tpu.py"] = render(tpu, TOY, WorkloadFacts(examples=4096), TPU).train
    return {name: text or "" for name, text in texts.items()}
