"""Trains a workload of the replay as a plain script: `python train.py birdsong --epochs 20`."""

import argparse
import importlib

parser = argparse.ArgumentParser()
parser.add_argument("workload")
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()

workload = importlib.import_module(f"benchmarks.replay.workloads.{args.workload}")
model = workload.model_fn()
model.fit(workload.dataset_fn().batch(32), epochs=args.epochs, verbose=2)
