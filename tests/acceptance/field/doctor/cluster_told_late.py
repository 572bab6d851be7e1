"""The cluster is described once the strategy is there: each worker is alone."""

import argparse
import json
import os

import tensorflow as tf


def describe(index: int) -> None:
    """Name the workers, and which of them this is."""
    cluster = {"worker": ["host-a:2222", "host-b:2222"]}
    task = {"type": "worker", "index": index}
    described = json.dumps({"cluster": cluster, "task": task})
    os.environ["TF_CONFIG"] = described  # tf-config-after-strategy


parser = argparse.ArgumentParser()
parser.add_argument("--index", type=int, default=0)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
describe(parser.parse_args().index)
