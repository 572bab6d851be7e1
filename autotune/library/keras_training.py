"""What training programs have in common: options, checkpoints, the learning rate, random numbers.

autotune writes this file beside a program that imports it. It needs Keras and TensorFlow alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf


def places_above(program: str) -> list[Path]:
    """Return the folders from where autotune may have run: the program's, that above it, others."""
    me = Path(program).resolve()
    return [*me.parents[:2], Path.cwd(), *me.parents[2:]]


def add_folder(program: str, path: str, *modules: str) -> None:
    """Have Python find modules of yours, in a folder given by its path from where autotune ran.

    That is taken to be the folder of the program, the one above it, the working folder, or any
    above.

    Args:
        program: The file of the program.
        path: Of the folder.
        modules: The modules in it, as paths without `.py`.

    Raises:
        SystemExit: There is no such folder.
    """
    me = Path(program).resolve()
    for start in places_above(program):
        found = [start / path / f"{name}.py" for name in modules]
        # A folder is a module only with modules in it: the trials of `lstm.py` lie in one `lstm`.
        if all(m != me and (m.is_file() or any(m.with_suffix("").glob("*.py"))) for m in found):
            sys.path.insert(0, str(start / path))
            return
    raise SystemExit(
        f"Found no {' and '.join(modules)} in {path!r}, from {me.parent}, the folders above it, or "
        "the working folder. Run this program in the folder where autotune ran, or move it there."
    )


def needs_values(factory: Callable[..., Any], values: Callable[[], dict[str, Any]]) -> Any:
    """Return the factory; calling it ends the program while one of its values is missing."""

    def checked(*arguments: object, **options: object) -> object:
        empty = [name for name, value in values().items() if value is ...]
        if empty:
            raise SystemExit(f"Fill in {', '.join(empty)} at the top of this program first.")
        return factory(*arguments, **options)

    return checked


def parse_arguments(
    argv: Sequence[str] | None,
    program: str,
    about: str | None,
    *,
    epochs: int | None = None,
    steps: float | None = None,
    verbose: int | None = 2,
) -> argparse.Namespace:
    """Read the command line of a program.

    Args:
        argv: The arguments; None takes those of the process.
        program: The file of the program.
        about: What the help says first.
        epochs: The default; None where the training has a number of its own.
        steps: The default of an epoch, rounded up; None where it is known later.
        verbose: Likewise, as `Model.fit` has it.
    """
    folder = str(Path(program).resolve().with_name("checkpoints"))
    own = "that of the script"
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--epochs", type=int, default=epochs, help=f"default: {epochs or own}")
    whole = None if steps is None else math.ceil(steps)
    add("--steps-per-epoch", type=int, default=whole, help="default: all examples once")
    add("--seed", type=int, default=0, help="default: 0")
    shown = own if verbose is None else verbose
    add("--verbose", type=int, choices=(0, 1, 2), default=verbose, help=f"default: {shown}")
    add("--no-validation", dest="validation", action="store_false", help="train only")
    add(
        *("--callbacks", "-c"),
        metavar="MODULE:FUNCTION",
        action="append",
        default=[],
        help="returns a list of Keras callbacks; may be repeated",
    )
    add("--history", metavar="FILE.csv", help="where to write the figures of each epoch")
    add(
        *("--resume",),
        metavar="FOLDER",
        nargs="?",
        const=folder,
        default="",
        help="where each epoch is saved, and gone on from; default: checkpoints, beside this file",
    )
    add(
        *("--no-resume",),
        dest="resume",
        action="store_const",
        const=None,
        help="neither save epochs nor go on from saved ones",
    )
    add("--save", metavar="FILE.keras", help="where to save the trained model")
    args = parser.parse_args(argv)
    args.checkpoints = []
    args.must_save = bool(args.resume)
    if args.resume == "":
        args.resume = folder
    if args.save is not None and not args.save.endswith(".keras"):
        parser.error("--save needs a name that ends in .keras")
    for option in ("save", "history"):
        path = getattr(args, option)
        if path is not None and not Path(path).resolve().parent.is_dir():
            parser.error(f"--{option}: there is no folder {Path(path).parent}")
    return args


def callbacks_of(
    args: argparse.Namespace,
    checkpoints: Callable[[str], keras.callbacks.Callback] | None = None,
    turn: int = 1,
) -> list[keras.callbacks.Callback]:
    """Return the callbacks that the command line asks for.

    Args:
        args: As parsed.
        checkpoints: Saves into a folder and goes on from there; None takes `Checkpoints`.
        turn: Of a script that trains several times, each of which has a folder of its own.

    Raises:
        SystemExit: A function is not there.
    """
    found: list[keras.callbacks.Callback] = []
    for name in args.callbacks:
        found += _function(name)()
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {})
    folder = args.resume if turn == 1 or not args.resume else f"{args.resume}-{turn}"
    if args.history and not task.get("index"):
        goes_on = turn > 1 or bool(args.resume and _was_killed(Path(args.resume)))
        found.append(keras.callbacks.CSVLogger(args.history, append=goes_on))
    if folder:
        # The last one, so that what the others do at the end of an epoch is saved with it.
        found.append((checkpoints or Checkpoints)(folder))
        found[-1].stays, found[-1].must = bool(args.save), args.must_save
        args.checkpoints.append(found[-1])
        _SAVING.append(found[-1])
    return found


def run(main: Callable[[], None]) -> None:
    """Run a program, which Ctrl-C ends with a line that says what is saved, and with status 130.

    Raises:
        SystemExit: Ctrl-C has ended it.
    """
    try:
        main()
    except KeyboardInterrupt:
        kept = [(max(each.saved()), each.root) for each in _SAVING if each.saved()]
        said = "no epoch is saved"
        for epochs, folder in kept[-1:]:
            said = f"epoch {epochs} is saved in {folder}, where the same command goes on"
        print(f"\nStopped: {said}.", file=sys.stderr, flush=True)
        raise SystemExit(130) from None


def _was_killed(folder: Path) -> bool:
    """Whether there are checkpoints, be it of a later turn of a script."""
    found = folder.parent.iterdir() if folder.parent.is_dir() else ()
    names = [each.name for each in found if each.is_dir()]
    return any(re.fullmatch(rf"{re.escape(folder.name)}(-\d+)?", each) for each in names)


def save(
    model: keras.Model,
    args: argparse.Namespace,
    path: Path | None = None,
    wait: Callable[[], object] = lambda: None,
) -> None:
    """Save the model if the command line asks for it; only then its checkpoints are removed.

    Args:
        model: Which was trained.
        args: As parsed.
        path: Where this process saves it; None where the command line says.
        wait: Waits until all have saved it.

    Raises:
        SystemExit: It could not be written.
    """
    if not args.save:
        return
    try:
        model.save(path or args.save)
    except OSError as exc:
        again = "Make room, and run the same again, which goes on from its checkpoint."
        kept = again if args.checkpoints else "Use --resume to keep a checkpoint."
        raise SystemExit(f"The model could not be written to {args.save}: {exc}. {kept}") from exc
    wait()
    for each in args.checkpoints:
        each.remove()


def _function(name: str) -> Callable[[], Iterable[keras.callbacks.Callback]]:
    module, _, function = name.partition(":")
    sys.path.append(os.getcwd())  # noqa: PTH109 - a text is what the path holds
    try:
        found: Callable[[], Any] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as exc:
        raise SystemExit(f"--callbacks {name}: {exc}. Name it as MODULE:FUNCTION.") from exc
    return found


_SAVING: list[Any] = []
"""What saves in this process."""


class Checkpoints(keras.callbacks.Callback):
    """Saves the weights of model and optimizer after each epoch, and goes on from there.

    Each epoch has a file of its own, which gets its name once it is whole; the last two are kept.
    So whoever is killed while it saves goes on from the epoch before. After the last epoch they are
    removed. A model that has no variables before its first batch is restored after its first call,
    whose training is lost.

    Args:
        folder: Holds the files, or those of each worker in a folder of its own.
    """

    stays = False
    """Whether they are kept until `remove`."""
    must = True
    """Whether a training ends that cannot be saved."""

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.root = Path(folder)
        self.waits = 0
        self.fails = False
        if any(self.root.rglob("*.weights.h5")):
            # Not otherwise: whoever has this method makes Keras wait for each call.
            self.on_train_batch_end = self.restore_late

    @property
    def leads(self) -> bool:
        """Whether this process says where it goes on."""
        return True

    @property
    def folder(self) -> Path:
        """Of this process."""
        return self.root

    def last(self) -> int:
        """Return the epoch to go on from, counted from 1; 0 where nothing was saved."""
        return max(self.saved(), default=0)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Restore what was saved, if anything was.

        Raises:
            SystemExit: It is of another model, or of more epochs than are asked for.
        """
        build_optimizer(self.model)
        epoch, asked, ready = self.last(), self.params["epochs"], is_built(self.model)
        # What has no variables yet is restored only while it trains.
        if epoch > (asked if ready else asked - 1):
            raise SystemExit(
                f"{self.root} holds {epoch} epochs of a training: go on by --epochs {epoch + 1} or "
                "more, or name another folder by --resume."
            )
        if epoch and ready:
            self.restore(epoch)
        elif epoch:
            self.waits = epoch
            go_on_after(self.model, epoch)

    def restore_late(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Restore a model that has its variables only now."""
        if self.waits:
            epoch, self.waits = self.waits, 0
            self.restore(epoch)

    def restore(self, epoch: int) -> None:
        """Restore what was saved after so many epochs.

        Raises:
            SystemExit: It is of another model.
        """
        # Keras knows it by a call alone, which a train_step of its own may not make.
        self.model.built = True
        try:
            self.model.load_weights(self.path(epoch))
        except (ValueError, KeyError, OSError) as exc:
            raise SystemExit(
                f"The checkpoint {self.path(epoch)} is not of this model, or is damaged: {exc}. "
                "Remove it, or name another folder by --resume."
            ) from exc
        if self.model.distribute_strategy.num_replicas_in_sync > 1:
            spread_random_streams(self.model, restored=True)
        go_on_after(self.model, epoch)
        if self.leads:
            print(
                f"Going on after epoch {epoch}, from {self.root}; remove it to begin anew.",
                flush=True,
            )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save.

        Raises:
            SystemExit: It could not be written, and must be; what was saved before is kept.
        """
        if self.fails:
            return
        self.model.built = True
        path = self.path(epoch + 1)
        draft = path.with_name(f"draft-{path.name}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.model.save_weights(draft)
            draft.replace(path)
            for old in sorted(self.saved())[:-2]:
                self.path(old).unlink()
        except Exception as exc:
            # A model of yours may be one that Keras cannot save.
            why = f"The checkpoint {path} could not be written: {exc}."
            if self.must:
                room = "Make room there, or name another folder by --resume."
                raise SystemExit(f"{why} {room}") from exc
            self.fails = True
            print(f"{why} The training goes on without.", flush=True)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Remove what was saved, and have a later `fit` begin at its own first epoch."""
        go_on_after(self.model, None)
        if not self.stays:
            self.remove()

    def remove(self) -> None:
        """Remove what this process has saved, and what it had no time to save."""
        for path in (*map(self.path, self.saved()), *self.folder.glob("draft-*.weights.h5")):
            path.unlink()
        for folder in (self.folder, self.root):
            with suppress(OSError):  # It holds more, or another worker has removed it.
                folder.rmdir()

    def path(self, epoch: int) -> Path:
        return self.folder / f"{epoch}.weights.h5"

    def saved(self) -> list[int]:
        """Return the epochs that this process has saved."""
        names = [each.name.partition(".")[0] for each in self.folder.glob("*.weights.h5")]
        return [int(each) for each in names if each.isdigit()]


# Private names of Keras that nothing public replaces; programs and their modules ask for them here.


def epochs_done(model: keras.Model) -> int:
    """Return the epoch that a training goes on from; without the name, it begins anew."""
    return getattr(model, "_initial_epoch", None) or 0


def go_on_after(model: keras.Model, epoch: int | None) -> None:
    """Have the training under way go on after an epoch, as BackupAndRestore does.

    Raises:
        SystemExit: Without the name, Keras would train all epochs once more.
    """
    if epoch and not hasattr(model, "_initial_epoch"):
        raise SystemExit(
            f"Keras {keras.__version__} cannot go on after epoch {epoch}. Use --no-resume to begin "
            "anew."
        )
    model._initial_epoch = epoch


def compiled_of(model: keras.Model) -> Any:
    """Return what each `compile` makes anew; without the name, a second one goes unnoticed."""
    return getattr(model, "_loss_tracker", None)


def inner_optimizer(optimizer: Any) -> Any:
    """Return the optimizer that takes the steps, within one that scales the loss."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def schedule_of(model: keras.Model) -> keras.optimizers.schedules.LearningRateSchedule | None:
    """Return the schedule of the learning rate; without the name, none is known.

    The property has what it says of the present step.
    """
    rate = getattr(inner_optimizer(model.optimizer), "_learning_rate", None)
    return rate if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule) else None


def logical_cpus(count: int) -> list[str]:
    """Divide this host's CPU into so many devices, and return their names.

    They share its cores, so several replicas pay where one cannot keep all cores busy.
    """
    cpu = tf.config.list_physical_devices("CPU")[0]
    logical = [tf.config.LogicalDeviceConfiguration()] * count
    tf.config.set_logical_device_configuration(cpu, logical)
    return [f"CPU:{index}" for index in range(count)]


def build_optimizer(model: keras.Model) -> None:
    """Create the optimizer's variables where those of the model are, unless it has them."""
    if model.optimizer is not None and model.built and not model.optimizer.built:
        with model.distribute_strategy.scope():
            model.optimizer.build(model.trainable_variables)


def optimizers_of(model: keras.Model) -> list[keras.Optimizer]:
    """Return that of `compile`, and those that a train_step of its own uses."""
    return [each for each in vars(model).values() if isinstance(each, keras.Optimizer)]


def is_built(model: keras.Model) -> bool:
    """Whether a model and its optimizers have all their variables."""
    return model.built and all(each.built for each in optimizers_of(model))


def compute_once(model: keras.Model, batch: Any) -> None:
    """Compute predictions, loss and metrics of a batch, which creates the variables of all."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
    y_pred = model(x, training=False)
    if model.loss is not None:
        model.compute_loss(x, y, y_pred, sample_weight)
    model.compute_metrics(x, y, y_pred, sample_weight)


def reset_metrics(model: keras.Model) -> None:
    """Have the metrics begin to count anew."""
    _reset_metrics(model, compiled_of(model))


@tf.function(autograph=False)  # Outside a graph each variable would cost milliseconds.
def _reset_metrics(model: keras.Model, compiled: Any) -> None:
    """Reset those of a model; what is `compiled` is another object after each `compile`."""
    model.reset_metrics()


class Validation(keras.callbacks.Callback):
    """Evaluates the model after each epoch, and adds the figures to those of the training."""

    def __init__(
        self, data: Any, evaluate: Callable[..., dict[str, Any]], every: int | Container[int] = 1
    ) -> None:
        """Take `validation_data` and `validation_freq` of a `fit`, and what does as `evaluate`."""
        super().__init__()
        self.data = keras.utils.unpack_x_y_sample_weight(data)
        self.evaluate = evaluate
        self.every = every

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the figures, unless this epoch is to have none."""
        every = self.every
        if (epoch + 1) % every if isinstance(every, int) else epoch + 1 not in every:
            return
        x, y, sample_weight = self.data
        found = self.evaluate(self.model, x, y, sample_weight=sample_weight, return_dict=True)
        if logs is not None:
            logs.update({f"val_{name}": value for name, value in found.items()})


class Calls(keras.callbacks.CallbackList):
    """Callbacks that are told of no more steps than an epoch has.

    Keras counts as many as `steps_per_execution` in each call, also in a shorter last one.
    """

    def __init__(self, callbacks: list[keras.callbacks.Callback], **training: Any) -> None:
        shown = training["verbose"] != 0
        super().__init__(callbacks, add_history=True, add_progbar=shown, **training)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Tell what the last step was."""
        super().on_train_batch_end(min(batch, self.params["steps"] - 1), logs)


def in_calls(
    model: keras.Model, callbacks: list[keras.callbacks.Callback], steps: int, **training: Any
) -> Calls:
    """Have the last call of an epoch of so many steps run only those that are left.

    Keras would let it run all of `steps_per_execution`, and read on into the next epoch.

    Args:
        model: Made ready for `fit`.
        callbacks: Of that.
        steps: Of an epoch.
        training: `epochs` and `verbose`, as `fit` is given them.

    Returns:
        The callbacks to give to `fit` in place of these.
    """
    each = model.steps_per_execution
    whole, rest = divmod(steps, each)
    sizes = cycle([*[each] * whole, *[rest] * (rest > 0)])
    functions = {}
    for size in {each, rest} - {0}:
        model.steps_per_execution = size
        model.make_train_function(force=True)
        functions[size] = model.train_function

    def train_function(iterator: Any) -> Any:
        # Keras takes it from here when it traces; what evaluates meanwhile has no use for it.
        model.steps_per_execution = next(sizes)
        try:
            return functions[model.steps_per_execution](iterator)
        finally:
            model.steps_per_execution = 1

    model.train_function = train_function
    model.steps_per_execution = each
    return Calls(callbacks, model=model, steps=steps, **training)


def spread_random_streams(model: keras.Model, *, restored: bool = False) -> None:
    """Give each replica its own random numbers.

    Keras starts the generators of its dropout and augmentation layers equally on all replicas,
    so that each would drop the same units of its different examples.

    Args:
        model: Made in the scope of its strategy.
        restored: Whether all replicas of this process have those of its first one.
    """
    here = len(model.distribute_strategy.extended.worker_devices)

    def shift() -> None:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        replica = replica % here if restored else replica
        for variable in model.non_trainable_variables:
            if variable.name == "seed_generator_state":
                distance = tf.stack([replica * 1_000_003, 0])
                variable.value.assign_add(tf.cast(distance, variable.dtype))

    @tf.function
    def shift_all() -> None:
        model.distribute_strategy.run(shift)

    shift_all()


def cache_in_file(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Return a dataset that keeps its examples in a file from the first epoch on."""
    return dataset.cache(str(Path(tempfile.mkdtemp(dir=_caches().name), "examples")))


@cache
def _caches() -> tempfile.TemporaryDirectory[str]:
    # It goes with this process: kept for longer, it would serve stale examples.
    return tempfile.TemporaryDirectory(prefix="autotune-cache-")


def scaled(
    model: keras.Model,
    callbacks: list[keras.callbacks.Callback],
    factor: float,
    *,
    batch: int,
    usual_batch: int,
    warm_up: tuple[int, float],
    steps_per_call: int = 1,
    workers: int = 1,
) -> list[keras.callbacks.Callback]:
    """Return the callbacks behind one that multiplies the learning rate.

    Args:
        model: Whose optimizer has the learning rate, or a schedule of it.
        callbacks: All others.
        factor: By which it is multiplied in the end.
        batch: Examples of an update.
        usual_batch: Those for which the learning rate was chosen.
        warm_up: Within so many examples, and within this share of the training, it rises.
        steps_per_call: Steps between two calls of a callback.
        workers: That make updates of their own.
    """
    if schedule_of(model) is not None:
        return [ScaledSchedules(factor, batch, usual_batch, warm_up), *callbacks]
    saves = any(isinstance(getattr(each, "save_freq", None), int) for each in callbacks)
    rate = ScaledRate(factor, batch, warm_up, steps_per_call, workers=workers, saves=saves)
    return [rate, *callbacks]


@dataclass(eq=False)
class ScaledSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule over as many examples as at the usual batch, and multiplied."""

    own: keras.optimizers.schedules.LearningRateSchedule
    factor: float
    """By which it is multiplied in the end."""
    batch: int
    """Examples of a step."""
    usual_batch: int
    """Those of a step for which the schedule was made."""
    warm_up: int
    """Examples until it is multiplied in full."""

    def __call__(self, step: Any) -> Any:
        examples = keras.ops.cast(step, "float64") * self.batch
        share = keras.ops.minimum(examples / self.warm_up, 1.0)
        factor = keras.ops.cast(1.0 + (self.factor - 1.0) * share, "float32")
        return factor * self.own(keras.ops.cast(examples / self.usual_batch, step.dtype))

    def get_config(self) -> dict[str, Any]:
        own = keras.optimizers.schedules.serialize(self.own)
        names = ("factor", "batch", "usual_batch", "warm_up")
        return {"own": own} | {name: getattr(self, name) for name in names}


@dataclass(eq=False)
class ScaledSchedules(keras.callbacks.Callback):
    """Puts a scaled schedule in the place of the model's while steps are made.

    At all other times it is the model's own, so that it is what other callbacks see and what is
    saved.
    """

    factor: float
    batch: int
    usual_batch: int
    warm_up: tuple[int, float]
    own: keras.optimizers.schedules.LearningRateSchedule | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def scale(self, number: int = 0, logs: dict[str, Any] | None = None) -> None:
        """Put the scaled schedule in, unless it is there."""
        if self.own is None:
            self.own = schedule_of(self.model)
            warm_up = warm_up_examples(self.warm_up, self.params, self.batch)
            self.model.optimizer.learning_rate = ScaledSchedule(
                self.own, self.factor, self.batch, self.usual_batch, warm_up
            )

    def restore(self, number: int = 0, logs: dict[str, Any] | None = None) -> None:
        """Put the model's own back."""
        if self.own is not None:
            self.model.optimizer.learning_rate = self.own
            self.own = None

    on_epoch_begin = on_train_batch_begin = scale
    on_epoch_end = on_train_batch_end = restore


@dataclass(eq=False)
class ScaledRate(keras.callbacks.Callback):
    """Multiplies the learning rate while an epoch trains, by more and more during the warm-up.

    Between epochs it is the model's own, so that it is what other callbacks see and what is saved.
    """

    factor: float
    batch: int
    """Examples of an update."""
    warm_up: tuple[int, float]
    steps_per_call: int
    workers: int
    """That make updates."""
    saves: bool
    """Whether a save may follow an update."""
    made: int | None = None
    now: float = 1.0

    def __post_init__(self) -> None:
        super().__init__()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Multiply it by what the next steps are to have."""
        if self.made is None:
            if epochs_done(self.model) and not self.model.optimizer.built:
                return  # What was saved of it comes back behind this call.
            # Not before, because a callback of yours may take up an earlier training.
            self.made = int(self.model.optimizer.iterations.numpy())
        self.made += self.workers * min(self.steps_per_call, self.params["steps"] - batch)
        # By hundredths, because a change may take as long as a step.
        warm_up = warm_up_examples(self.warm_up, self.params, self.batch * self.workers)
        share = min(100 * self.made * self.batch // warm_up, 100) / 100
        self.multiply(1.0 + (self.factor - 1.0) * share)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Give the model's own back before it is saved."""
        if self.saves:
            self.multiply(1.0)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Give the model's own back."""
        self.multiply(1.0)

    def multiply(self, factor: float) -> None:
        """Make the learning rate so many times the model's own."""
        if factor != self.now:
            rate = float(self.model.optimizer.learning_rate.numpy())
            self.model.optimizer.learning_rate = rate * factor / self.now
            self.now = factor


def warm_up_examples(warm_up: tuple[int, float], training: dict[str, Any], batch: int) -> int:
    """Return the examples in which the learning rate rises.

    Args:
        warm_up: At most so many, and at most this share of the training.
        training: Has the numbers of its epochs and of their steps.
        batch: Examples of a step.
    """
    most, share = warm_up
    whole = training["epochs"] * training["steps"] * batch
    return max(min(most, int(share * whole)), 1)
