"""Sentences for the reasons of trials, by their kinds, with names for the data."""

from __future__ import annotations

import signal

from autotune import disk
from autotune.reason import (
    BudgetEnded,
    Cause,
    CheckKind,
    Exited,
    HostLost,
    KernelKilled,
    Killed,
    KnownError,
    Overdue,
    Phase,
    Reason,
    Rule,
    RuleKind,
    Seen,
    SharedInputBound,
    StrategyFailed,
    Uncertified,
)
from autotune.text import plural


def reason_text(reason: Reason) -> str:
    """Return a reason in words."""
    return _words(reason)


def check_text(seen: Seen) -> str:
    """Return in words what a check of a distributed training saw."""
    figures = dict(seen.figures)
    tiny = {f"{name}_tiny": _tiny(f) for name, f in seen.figures if isinstance(f, float)}
    why = reason_text(seen.reason) if seen.reason else ""
    return CHECKS[seen.kind].format(**figures, **tiny, why=why)


def rule_text(rule: Rule) -> str:
    """Return in words why a configuration cannot run."""
    if rule.kind is RuleKind.STRATEGY:
        return rule.text
    size = f"{(rule.figure or 0) / 2**30:.1f} GiB"
    where = f" ({rule.text})" if rule.text else ""
    return RULES[rule.kind].format(figure=rule.figure, size=size, where=where)


def death(reason: Killed | Exited | KernelKilled) -> str:
    """Return the end of a process as the predicate of a sentence."""
    if isinstance(reason, Exited) and reason.code == disk.EXIT_CODE:
        return "could not write its files: the disk is full or read-only, or the folder is gone"
    if isinstance(reason, Exited):
        return f"exited with code {reason.code} without a result"
    if isinstance(reason, KernelKilled):
        return "was killed by the kernel to free memory"
    try:
        return f"was killed by {signal.Signals(reason.signal).name}"
    except ValueError:
        return f"was killed by signal {reason.signal}"


def _words(reason: Reason) -> str:
    """Return the sentence of a kind with its data, and with what is made of that."""
    data = dict(reason)
    process, where = data.get("process"), data.get("where")
    made = {
        "of": f"{process}: " if process else "",
        "the_process": process or "the process",
        "at": f" ({where})" if where else "",
        "ms": 1000 * data.get("seconds", 0.0),
        **{f"{name}_gib": data.get(name, 0) / 2**30 for name in ("used", "limit")},
        "machines": plural(data.get("needed", 0), "machine"),
        "times": {1: "once", 2: "twice"}.get(n := data.get("deaths", 0), f"{n} times"),
        "what": _what(reason),
    }
    return _template(reason).format(**data, **made)


def _template(reason: Reason) -> str:
    match reason:
        case BudgetEnded(phase=phase):
            return _ENDED[phase]
        case Overdue(phase=phase):
            return _OVERDUE[phase]
    return _REASONS[reason.kind]


def _what(reason: Reason) -> str:  # noqa: PLR0911 - a case for each kind
    """Return what differs from case to case of a kind."""
    match reason:
        case Killed() | Exited():
            name = reason.process or "the process"
            return f"{name[0].upper()}{name[1:]} {death(reason)}"
        case HostLost(memory=True):
            return "Ray ended its agent because memory ran out"
        case HostLost(silent=silent):
            return f"no answer for {silent:g} s" if silent else "its agent ended"
        case KnownError(cause=cause):
            return _CAUSES[cause]
        case SharedInputBound() if reason.workers > 1:
            policy = reason.shard_policy
            return f"with shard policy {policy} every worker runs the whole input pipeline"
        case SharedInputBound():
            return "its replicas share one input pipeline"
        case StrategyFailed(last=last):
            return _words(last)
        case Uncertified(findings=findings):
            return " ".join(map(check_text, findings))
    return ""


def _tiny(share: float) -> str:
    return f"{share * 100:.2g}%" if share < 0.001 else f"{share:.1%}"


_REASONS = {
    "measured": "throughput measured",
    "completed": "Every process reported what it was run for.",
    "slower": "at most {most:.0%} of the single-device throughput",
    "not_stationary": "throughput did not stabilize within {seconds:.0f} s of training",
    "killed": "{what}.",
    "exited": "{what}.",
    "orphaned": (
        "It was killed together with the parent process of all trials; the system may have run out "
        "of memory."
    ),
    "host_lost": "Machine {host} was lost: {what}.",
    "too_few_hosts": "It needs {machines}, and {left} are left.",
    "unattended": (
        "Its processes were ended because nothing was heard of autotune for {seconds:g} s."
    ),
    "kernel_killed": "The kernel killed {the_process}: out of memory.",
    "memory_exceeded": "It used {used_gib:.1f} GiB of memory; the limit is {limit_gib:.1f} GiB.",
    "raised": "{of}{error}: {message}{at}",
    "known_error": "{of}{what}",
    "not_finite": (
        "The {name} was {value} by step {step}: lower the learning rate, or check the data for NaN "
        "and infinite values."
    ),
    "finished_early": (
        "Training ended before its throughput was measured: remove callbacks that stop it."
    ),
    "excluded": "Not run again: the search process died {times} while running it.",
    "all_reduce_bound": (
        "cannot win: the all-reduce of its gradients takes more than {ms:.3g} ms per step, so "
        "{global_batch} examples per step reach at most {share:.0%} of the best single device"
    ),
    "shared_input_bound": (
        "cannot win: {what}, which takes at least {ms:.2g} ms per example on one device as well, "
        "so at most {share:.0%} of the best single device; only sharding at the source "
        "(input_context) or by file reduces the input work per worker"
    ),
    "one_device_bound": (
        "cannot win: {replicas} replicas are at most {replicas} times as fast as one device with a "
        "batch of {per_replica_batch}, or {share:.0%} of the best single device"
    ),
    "smaller_ran_out": "a smaller batch ran out of memory in trial {trial}",
    "strategy_failed": "{strategy} failed {failures} times: {what}",
    "uncertified": "{what}",
    "message": "{text}",
}
_ENDED: dict[Phase | None, str] = {
    None: "the budget ran out before its throughput was measured",
    Phase.WHOLE: "the budget ran out before its throughput was measured",
    Phase.START: "the budget ran out at its start, which had taken {seconds:.0f} s by then",
    Phase.FIRST_STEP: (
        "the budget ran out in its first step, which had taken {seconds:.0f} s by then"
    ),
    Phase.STEADY: "the budget ran out in a step, which had taken {seconds:.0f} s by then",
}
_OVERDUE = {
    Phase.WHOLE: "It took more than {seconds:g} s in all.",
    Phase.START: "It hung at startup: training had not begun after {seconds:g} s.",
    Phase.FIRST_STEP: "It hung in the first step, which had not finished after {seconds:g} s.",
    Phase.STEADY: "It hung during training: no step finished for {seconds:g} s.",
}
_CAUSES = {
    Cause.NCCL_WITHOUT_GPU: "NCCL needs GPUs and this trial has none: use another reduction.",
    Cause.TOO_FEW_FILES: (
        "The input has fewer files than workers, so it cannot be sharded by file: use shard "
        "policy data, or split the input into more files."
    ),
    Cause.NO_FILES: (
        "The input does not come from files, so it cannot be sharded by file: use shard policy "
        "data, or declare input_context and shard in dataset_fn."
    ),
    Cause.XLA_COLLECTIVES: "XLA cannot compile collectives between CPU workers: turn xla off.",
    Cause.XLA_VARIABLES: (
        "XLA cannot compile a step with variables on several CPU devices: turn xla off."
    ),
    Cause.FIT_WITH_WORKERS: (
        "Model.fit does not support several workers in this version of Keras: use a custom "
        "training loop."
    ),
    Cause.FIT_WITH_REDUCTION: (
        "Model.fit cannot run several steps per execution with this reduction: set "
        "steps_per_execution to 1 or use another reduction."
    ),
    Cause.FIT_WITH_SERVERS: (
        "Model.fit does not support parameter servers in this version of Keras: use a "
        "ClusterCoordinator."
    ),
    Cause.PORT_TAKEN: "Another program took the port chosen for a worker: run the trial again.",
    Cause.NO_TPU: "No TPU found: use another strategy, or set TPU_NAME.",
    Cause.INDIVISIBLE_BATCH: (
        "The global batch size is not a multiple of the number of replicas: choose a multiple."
    ),
    Cause.UPDATE_IN_CONDITION: (
        "Under several replicas TensorFlow cannot apply gradients within a condition, a loop or a "
        "tf.function of train_step, as accumulating them does: apply them in every step."
    ),
    Cause.WORKER_SILENT: (
        "A worker stopped responding to the others: check whether its machine is overloaded."
    ),
}
RULES = {
    RuleKind.ASYNCHRONOUS: (
        "it trains asynchronously, which changes convergence; --allow-asynchronous "
        "(allow_asynchronous in Python and JSON) includes it"
    ),
    RuleKind.INDIVISIBLE_BATCH: (
        "a global batch of {figure} is not divisible by the number of replicas"
    ),
    RuleKind.OTHER_BATCH: (
        "what an example teaches at another global batch than {figure} is not looked at or not "
        "known"
    ),
    RuleKind.BATCH_LIMIT: "the global batch would exceed max_global_batch {figure}",
    RuleKind.DATASET_TOO_SMALL: (
        "the global batch would exceed the {figure} examples of the dataset"
    ),
    RuleKind.EPOCH_TOO_SHORT: "an epoch has fewer steps than steps_per_execution",
    RuleKind.UNREPEATABLE_CACHE: (
        "a cache would change the training: the dataset differs in every pass{where}; where a "
        "dataset_fn declares `cache` and applies it before what is random, it is tried there"
    ),
    RuleKind.LATE_CACHE: (
        "a cache would change the training: what dataset_fn hands to `cache` differs in every "
        "pass{where}; apply it before what is random"
    ),
    RuleKind.OWN_CACHE: "dataset_fn keeps a cache of its own",
    RuleKind.UNCOUNTED_CACHE: (
        "the number of examples is unknown, so a cache may never fill; "
        "tf.data.experimental.assert_cardinality in dataset_fn would tell it"
    ),
    RuleKind.CACHE_TOO_LARGE: "the examples take {size}, too much to cache in memory",
    RuleKind.CACHE_BEYOND_DISK: "the examples take {size}, too much to cache on the free disk",
    RuleKind.TOO_MANY_THREADS: "more threads per process than cores ({figure})",
    RuleKind.FLOAT16_WITHOUT_GPU: "float16 is fast only on GPUs, and TensorFlow sees none",
    RuleKind.ALONE: (
        "with several workers only the fit that is tuned can run, and the script may call another "
        "one in line {figure}: train that model in a script of its own, and load it"
    ),
    RuleKind.CARRIED_STATE: (
        "the model carries state from one batch to the next{where}; replicas and other batches "
        "would pair it with other examples"
    ),
    RuleKind.BUILT_IN_BATCH: (
        "a batch of {figure} is built into the model, so no replica can take a part of it"
    ),
    RuleKind.ACCUMULATION: (
        "Keras cannot accumulate the gradients of {figure} steps under several replicas "
        "(keras-team/keras#20582)"
    ),
    RuleKind.EAGER: "eager execution is tried on one device only, without XLA",
    RuleKind.UNCOMPILABLE: "the model runs eagerly, and compiling it fails{where}",
    RuleKind.OWN_TRAIN_FUNCTION: (
        "the model's own make_train_function is called by Model.fit alone, and it decides how many "
        "steps a call takes"
    ),
    RuleKind.ONE_REPLICA: "with one replica it is the same as one device",
}
CHECKS = {
    CheckKind.NOT_COMPARABLE: "Ragged or sparse examples cannot be compared.",
    CheckKind.DISJOINT: "Its {replicas} {units} read {total:,} examples without overlap.",
    CheckKind.CHANGING: (
        "Cannot tell whether its {units} read the same examples: the dataset differs in every "
        "pass, for example by augmentation."
    ),
    CheckKind.MORE_THAN_EPOCH: (
        "Cannot tell whether its {units} read the same examples: together they read more than one "
        "epoch."
    ),
    CheckKind.OVERLAP: "Its {units} read the same {twice:,} of {total:,} examples.",
    CheckKind.FEW_COMMON: (
        "Its {units} have {twice:,} of the {total:,} examples they read in common, too few to be "
        "sure."
    ),
    CheckKind.DUPLICATES: (
        "Its {replicas} {units} read {total:,} examples, none more often than it occurs in the "
        "dataset."
    ),
    CheckKind.MAYBE_DUPLICATES: (
        "Its {units} have {twice:,} of the {total:,} examples they read in common; these may be "
        "duplicates in the dataset, which is too large to count."
    ),
    CheckKind.SIZES_UNKNOWN: "The size of ragged or sparse batches was not checked.",
    CheckKind.EMPTY_BATCH: (
        "Replica {replica} got an empty batch in step {step} instead of {batch} examples."
    ),
    CheckKind.OTHER_SIZE: (
        "Replica {replica} got a batch of {size} in step {step} instead of {batch} examples."
    ),
    CheckKind.EQUAL_SIZES: "Every replica got {batch} examples in each of {steps} steps.",
    CheckKind.OTHER_ELEMENTS: (
        "Replica {replica} got {mine}, replica 0 got {first}: the preprocessing differs."
    ),
    CheckKind.EQUAL_ELEMENTS: "All replicas got the same structure, dtypes and shapes.",
    CheckKind.OTHER_START: "Its replicas start with different values of {name}.",
    CheckKind.EQUAL_START: "All {replicas} replicas start with the same weights.",
    CheckKind.SAME_RANDOM: "Its replicas draw the same random numbers from {name}.",
    CheckKind.NO_RANDOM: "No layer uses random numbers.",
    CheckKind.OWN_RANDOM: "Every replica draws different random numbers.",
    CheckKind.DIVERGED: (
        "Its replicas diverge: after {steps} steps {name} differs by {share:.0%} of its change, "
        "so gradients or updates are not reduced across replicas."
    ),
    CheckKind.DIVERGED_UNMOVED: (
        "Its replicas diverge: after {steps} steps {name} differs although it never changed, so "
        "gradients or updates are not reduced across replicas."
    ),
    CheckKind.EQUAL_REPLICAS: (
        "All {replicas} replicas hold the same weights after {steps} steps."
    ),
    CheckKind.OUTSIDE_SCOPE: (
        "{name} is on one device only: it was created outside strategy.scope()."
    ),
    CheckKind.ON_ALL_REPLICAS: "Every variable has a copy on each replica that needs one.",
    CheckKind.ASYNCHRONOUS: (
        "{title} applies each worker's gradients separately, so it does not train like one "
        "device; this cannot be certified."
    ),
    CheckKind.RUN_FAILED: "The certification run failed: {why}",
    CheckKind.REFERENCE_FAILED: "The single-device run for comparison failed: {why}",
    CheckKind.NOT_REPLAYED: (
        "Ragged or sparse batches cannot be replayed on one device for comparison."
    ),
    CheckKind.OTHER_VARIABLES: (
        "The model has different variables on one device, so weights cannot be compared."
    ),
    CheckKind.OTHER_LENGTH: ("A callback stopped training at a different step than on one device."),
    CheckKind.NOT_FINITE: "After {steps} steps the weights are not finite.",
    CheckKind.UNMOVED: ("No weight changed within {steps} steps, so training cannot be compared."),
    CheckKind.ASTRAY: (
        "After {steps} steps on the same batches, {name} differs from single-device training by "
        "{share:.0%} of its change; rounding explains {explained_tiny}. Its {replicas} replicas "
        "do not average loss or gradients over the global batch."
    ),
    CheckKind.UNCLEAR: (
        "Cannot tell within {steps} steps whether it trains like one device: rounding or random "
        "numbers may account for {explained:.0%} of the change in weights."
    ),
    CheckKind.A_LITTLE_ASTRAY: (
        "After {steps} steps its weights differ from single-device training by {share_tiny} of "
        "their change; rounding explains only {explained_tiny}. Masks, sample weights or "
        "normalization may be averaged per replica."
    ),
    CheckKind.SAME_RESULT: (
        "After {steps} steps on the same batches its weights match single-device training to "
        "within {share_tiny} of their change (rounding explains {explained_tiny})."
    ),
    CheckKind.OTHER_LOSS: "The loss it logs is {ratio:.2f} times that of one device.",
    CheckKind.NORMALIZATION_LEFT_OUT: (
        "BatchNormalization was left out of the comparison: each replica normalizes by its own "
        "part of the batch; synchronized=True would change that."
    ),
}
