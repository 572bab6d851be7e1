"""What to change in the user's own script, as a patch.

One process that trains by Keras's `fit` needs no other program: its settings are arguments of `fit`
and `compile` and stages of the input. They are put in on the syntax tree (libcst), so that the rest
of the script stays as it is, character by character.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from difflib import unified_diff
from typing import NamedTuple

import libcst as cst
from libcst import matchers
from libcst.metadata import (
    Assignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    ScopeProvider,
)

from autotune.config import Configuration, axis_of
from autotune.machine import Machine
from autotune.program.program import scaling
from autotune.program.text import fill_in, literal
from autotune.shared_values import Count
from autotune.stats.intervals import Interval
from autotune.strategies import strategy
from autotune.strategies.mirrored import OPERATIONS
from autotune.text import plural
from autotune.workload import FitData, FitFacts, WorkloadFacts

_BATCHES = matchers.Call(func=matchers.Attribute(attr=matchers.Name("batch")))


class Patch(NamedTuple):
    """A unified diff against the user's script, or why there is none."""

    text: str = ""
    """To be applied by `patch -p1` or `git apply` in the folder where autotune ran."""
    why_not: str = ""
    """One sentence; empty where there is a text, or where nothing has to be changed."""
    before: str = ""
    """The script as it is."""
    changed: str = ""
    """The script with the change."""
    ran: str = "It was not run."
    """What came of running it, as a sentence."""
    differs: str = ""
    """What is not as in the program that was timed, as a sentence; empty where nothing is."""
    gain: Interval | None = None
    """How many times as good as the script as it is; None where that was not measured."""


TENSORFLOW = "import tensorflow as tf"
NO_PATCH = Patch()
"""There is no script, or nothing in it has to be changed."""


class _Refused(Exception):
    """The script cannot be changed so; its text says why, as a sentence."""


def patch_for(
    path: str, text: str, configuration: Configuration, facts: WorkloadFacts, machine: Machine
) -> Patch:
    """Return how a script trains as a configuration says; its path is from where autotune ran."""
    try:
        _check(configuration, facts)
        configuration, differs = _dividing(text, configuration, facts)
        module = MetadataWrapper(cst.parse_module(text))
        edit = _Edit(configuration, facts, module, gpus=bool(machine.gpus))
        changed = module.visit(edit).code
        edit.check()
    except _Refused as exc:
        return Patch(why_not=str(exc))
    except cst.ParserSyntaxError:
        return Patch(why_not="The script cannot be parsed.")
    if changed == text:
        none = "No number near these steps per call divides the steps of an epoch."
        return Patch(why_not=none if differs else "")
    one, other = (each.splitlines(keepends=True) for each in (text, changed))
    lines = unified_diff(one, other, f"a/{path}", f"b/{path}")
    return Patch("".join(map(_ended, lines)), before=text, changed=changed, differs=differs)


def program_of(path: str, arguments: Sequence[str], text: str, fit: FitFacts) -> str:
    """Return a program that trains as a script with this text does, for a trial.

    The call of `fit` is that before a change.
    """
    script = {"path": path, "arguments": tuple(arguments), "text": text}
    return fill_in("changed.py.j2", {"script": script, "fit": fit})


def _ended(line: str) -> str:
    """Return a line of a diff, which says where the last one of a file has no end."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _check(configuration: Configuration, facts: WorkloadFacts) -> None:
    fit, plan = facts.fit, strategy(configuration.strategy)
    other_batch = configuration.global_batch != facts.usual_batch
    if configuration.processes > 1 or plan.training(configuration, facts) != "fit":
        raise _Refused(f"{plan.title} trains by another loop than Keras's fit.")
    if fit is None or fit.line is None or not fit.of:
        raise _Refused("The script does not call fit by its name.")
    if facts.eager and not configuration.run_eagerly:
        raise _Refused("The script asks for eager execution, which would stay.")
    if fit.steps and other_batch:
        raise _Refused("The steps of an epoch are reckoned by the script from its own batch.")
    if fit.own_strategy:
        raise _Refused("The script makes a strategy of its own.")
    changed = configuration.changed()
    if others := sorted(name for name in changed if not axis_of(name).in_patch):
        named = [axis_of(each).in_short(each, changed[each]) or each for each in others]
        raise _Refused(f"No argument of fit or compile stands for {', '.join(named)}.")
    scaled = scaling(configuration, facts)
    if scaled.rate != 1:
        raise _Refused("The learning rate of this batch rises during a warm-up.")
    if scaled.epochs != 1:
        raise _Refused("This batch needs more epochs than the script makes.")
    _check_input(configuration, fit.data, other_batch=other_batch)


def _check_input(configuration: Configuration, data: FitData | None, *, other_batch: bool) -> None:
    if configuration.private_threadpool_size and data is not FitData.DATASET:
        raise _Refused("Input threads of its own are an option of a tf.data.Dataset alone.")
    other = other_batch or configuration.cache != "off" or configuration.prefetch != "auto"
    if data in (FitData.PY_DATASET, FitData.GENERATOR) and other:
        raise _Refused("Python code makes the batches of the script.")


def _dividing(
    text: str, configuration: Configuration, facts: WorkloadFacts
) -> tuple[Configuration, str]:
    """Return a configuration whose calls divide the script's epochs, and what differs so.

    Keras tells its callbacks of a whole last call, and of data without end it trains as many steps.
    """
    wanted = configuration.steps_per_execution
    steps = _steps(text, configuration, facts) if wanted > 1 else wanted
    if steps is None:
        raise _Refused("Steps per call must divide those of an epoch, which are not known.")
    known = (each for each in range(1, 2 * wanted + 1) if steps % each == 0)
    found = min(known, key=lambda each: abs(math.log(each / wanted)))
    if found == wanted:
        return configuration, ""
    calls = f"Its calls have {plural(found, 'step')}"
    differs = f"{calls}, because {wanted} do not divide the {steps} of an epoch."
    return configuration.but(steps_per_execution=found), differs


def _steps(text: str, configuration: Configuration, facts: WorkloadFacts) -> int | None:
    """Return the steps of an epoch of the changed script; None where nobody knows them."""
    fit, other_batch = facts.fit or FitFacts(), configuration.global_batch != facts.usual_batch
    if fit.steps:
        return fit.steps
    if fit.batches and not other_batch:
        return fit.batches
    examples = facts.examples if facts.count is Count.EXACT else None
    # Smaller batches may stand elsewhere than at the end, or nowhere.
    if examples is None or (other_batch and re.search(r"drop_remainder|\brepeat\(", text)):
        return None
    return math.ceil(examples / configuration.global_batch)


class _Edit(cst.CSTTransformer):
    """Writes a configuration into the call of `fit`, that of `compile`, and the input."""

    METADATA_DEPENDENCIES = (ParentNodeProvider, ScopeProvider)

    def __init__(
        self, chosen: Configuration, facts: WorkloadFacts, module: MetadataWrapper, *, gpus: bool
    ) -> None:
        super().__init__()
        self._gpus = gpus
        self._chosen = chosen
        self._fit = facts.fit or FitFacts()
        self._calls = [*_calls_of_fit(module, self._fit)]
        given = self._calls[0].args if self._calls else ()
        self._data = next((a for i, a in enumerate(given) if _is_data(i, a)), None)
        self._of_arrays = self._fit.data is FitData.ARRAYS
        self._other_batch = chosen.global_batch != facts.usual_batch
        prefetches = not self._of_arrays and chosen.prefetch not in ("auto", 0)
        self._on_data = [
            *([f"prefetch({literal(chosen.prefetch)})"] if prefetches else []),
            *(["with_options(input_options)"] if chosen.private_threadpool_size else []),
        ]
        """Calls on the data of `fit`."""
        self._own_batch = facts.usual_batch
        self._number: cst.Integer | None = None
        self._compiles = self._batches = self._scopes = 0

    def check(self) -> None:
        """Make sure that everything was written, once."""
        if len(self._calls) != 1:
            raise _Refused(f"Line {self._fit.line} calls fit in a form that is not known.")
        if self._compiles != 1 and self._for_compile():
            raise _Refused(f"{self._fit.of}.compile is called {self._compiles} times.")
        if self._chosen.distributed and self._scopes != 1:
            raise _Refused(f"{self._fit.of} is not made and compiled in one place.")
        rebatched = self._other_batch or self._chosen.cache != "off"
        if not self._of_arrays and rebatched and self._batches != 1:
            where = (
                "more than one place" if self._batches else "another place than where it is made"
            )
            raise _Refused(f"The data of fit is batched in {where}.")

    def _is_of_data(self, node: cst.CSTNode) -> bool:
        """Whether a node stands in what `fit` is given as data, or in what makes that."""
        data = _code(self._data.value) if self._data else None
        while not isinstance(node, cst.Module):
            if node is self._data:
                return True
            if isinstance(node, cst.Assign) and data in [_code(it.target) for it in node.targets]:
                scopes = [self.get_metadata(ScopeProvider, it) for it in (node, self._calls[0])]
                return scopes[0] is scopes[1]  # In the same function.
            node = self.get_metadata(ParentNodeProvider, node)
        return False

    def visit_Module(self, node: cst.Module) -> None:  # noqa: N802 - libcst's name
        """Find the number behind the batch's name: whatever else has that name changes with it."""
        given = [
            argument.value
            for call in matchers.findall(node, matchers.Call(func=matchers.Attribute()))
            for index, argument in enumerate(cst.ensure_type(call, cst.Call).args)
            if self._other_batch and self._is_batch(call, index, argument)
        ]
        if len(given) == 1 and isinstance(given[0], cst.Name):
            self._number = self._number_of(given[0])

    def _is_batch(self, call: cst.CSTNode, index: int, argument: cst.Arg) -> bool:
        """Whether an argument says how large the batches of the training are."""
        position = 2 if self._of_arrays else 0
        if argument.keyword.value != "batch_size" if argument.keyword else index != position:
            return False
        if self._of_arrays:
            return call in self._calls
        return matchers.matches(call, _BATCHES) and self._is_of_data(call)

    def _number_of(self, name: cst.Name) -> cst.Integer | None:
        """Return the number that alone is given a name, if it is the own batch."""
        scope = self.get_metadata(ScopeProvider, name)
        places = [*scope[name.value]] if scope else []
        node = places[0].node if len(places) == 1 and isinstance(places[0], Assignment) else None
        target = node and self.get_metadata(ParentNodeProvider, node)
        statement = target and self.get_metadata(ParentNodeProvider, target)
        if not isinstance(target, cst.AssignTarget) or not isinstance(statement, cst.Assign):
            return None
        number = statement.value
        mine = isinstance(number, cst.Integer) and number.evaluated_value == self._own_batch
        return cst.ensure_type(number, cst.Integer) if mine else None

    def leave_Integer(  # noqa: N802 - libcst's name
        self, original_node: cst.Integer, updated_node: cst.Integer
    ) -> cst.Integer:
        if original_node is not self._number:
            return updated_node
        return updated_node.with_changes(value=str(self._chosen.global_batch))

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:  # noqa: N802 - libcst's name
        if original_node is not self._data or not self._on_data:
            return updated_node
        code = _code(updated_node.value)
        if not isinstance(updated_node.value, cst.Name | cst.Attribute | cst.Call):
            code = f"({code})"
        return updated_node.with_changes(
            value=cst.parse_expression(".".join([code, *self._on_data]))
        )

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:  # noqa: N802 - libcst's name
        function = updated_node.func
        if original_node in self._calls:
            return self._with_fit(updated_node)
        if not isinstance(function, cst.Attribute):
            return updated_node
        of, name = _code(function.value), function.attr.value
        if name == "compile" and of == self._fit.of:
            self._compiles += 1
            names = {each.keyword.value for each in updated_node.args if each.keyword}
            return with_arguments(updated_node, self._for_compile(names))
        if name == "batch" and not self._of_arrays and self._is_of_data(original_node):
            return self._with_batch(updated_node, function)
        return updated_node

    def leave_IndentedBlock(  # noqa: N802 - libcst's name
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        del original_node
        return updated_node.with_changes(body=self._scoped(updated_node.body))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:  # noqa: N802 - libcst's name
        body = self._scoped(updated_node.body)
        if lines := self._first_lines(original_node.code):
            found = _behind_imports(body)
            lacks = not any(_code(each).strip().endswith(TENSORFLOW) for each in body[:found])
            added = [cst.parse_statement(each) for each in [TENSORFLOW] * lacks + lines]
            first = int(lacks)
            added[first] = added[first].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
            body = [*body[:found], *added, *body[found:]]
        return updated_node.with_changes(body=body)

    def _scoped(self, body: Sequence[cst.BaseStatement]) -> Sequence[cst.BaseStatement]:
        """Return statements with those that make and compile the model in the strategy's scope."""
        if not self._chosen.distributed:
            return body
        code = [_code(each).strip() for each in body]
        made = [i for i, each in enumerate(code) if each.startswith(f"{self._fit.of} = ")]
        last = [i for i, each in enumerate(code) if each.startswith(f"{self._fit.of}.compile(")]
        if not made or len(last) != 1 or made[0] >= last[0]:
            return body
        first, end = made[0], last[0] + 1
        optimizer = re.search(r"(\.compile\(|\boptimizer=)\s*([A-Za-z_]\w*)\s*[,)]", code[last[0]])
        inside = optimizer and any(e.startswith(f"{optimizer[2]} = ") for e in code[first:end])
        if re.search(r"\bModel\(", code[first]) or (optimizer and not inside):
            raise _Refused("Layers or the optimizer are made before the model, out of the scope.")
        self._scopes += 1
        inner = body[first].with_changes(leading_lines=())
        scope = cst.With(
            items=[cst.WithItem(cst.parse_expression("strategy.scope()"))],
            body=cst.IndentedBlock([inner, *body[first + 1 : end]]),
            leading_lines=getattr(body[first], "leading_lines", ()),
        )
        return [*body[:first], scope, *body[end:]]

    def _first_lines(self, script: str) -> list[str]:
        """Return what TensorFlow has to be told before anything is computed."""
        chosen, lines = self._chosen, []
        if threads := chosen.intra_op_parallelism_threads:
            lines.append(f"tf.config.threading.set_intra_op_parallelism_threads({threads})")
        if threads := chosen.private_threadpool_size:
            if re.search(r"\binput_options\b", script):
                raise _Refused("The script has another use for the name `input_options`.")
            lines.append("input_options = tf.data.Options()")
            lines.append(f"input_options.threading.private_threadpool_size = {threads}")
        if chosen.distributed:
            if re.search(r"\bstrategy\b", script):
                raise _Refused("The script has another use for the name `strategy`.")
            lines += _strategy_lines(chosen, gpus=self._gpus)
        return lines

    def _with_fit(self, node: cst.Call) -> cst.Call:
        if any(each.star == "**" for each in node.args):
            raise _Refused("The arguments of fit are collected elsewhere (**).")
        if self._of_arrays and self._other_batch and self._number is None:
            return with_arguments(node, {"batch_size": str(self._chosen.global_batch)}, position=2)
        if self._on_data and self._data is None:
            raise _Refused("The data of fit is none of its arguments.")
        return node

    def _with_batch(self, node: cst.Call, function: cst.Attribute) -> cst.Call:
        self._batches += 1
        if self._chosen.cache == "file":
            raise _Refused("The file of the cache is for you to choose.")
        if self._chosen.cache == "memory":
            if "shuffle" in _code(function.value):
                raise _Refused("The place of the cache before the shuffle is for you to choose.")
            cached = cst.parse_expression(f"{_code(function.value)}.cache()")
            node = node.with_changes(func=function.with_changes(value=cached))
        if self._other_batch and self._number is None:
            node = with_arguments(node, {"batch_size": str(self._chosen.global_batch)}, position=0)
        return node

    def _for_compile(self, own: Collection[str] = ()) -> dict[str, str]:
        """Return arguments that are away from their defaults, or that the script has of its own."""
        steps, xla = self._chosen.steps_per_execution, self._chosen.xla
        values = {"steps_per_execution": (steps, steps > 1), "jit_compile": (xla, xla)}
        return {n: str(value) for n, (value, away) in values.items() if away or n in own}


def with_arguments(node: cst.Call, given: dict[str, str], position: int | None = None) -> cst.Call:
    """Return a call with arguments by name; one that stands at a position is replaced there."""
    arguments = list(node.args)
    for name, text in given.items():
        added = cst.ensure_type(cst.parse_expression(f"f({name}={text})"), cst.Call).args[0]
        named = [i for i, a in enumerate(arguments) if a.keyword and a.keyword.value == name]
        plain = [i for i, a in enumerate(arguments) if a.keyword is None]
        if named:
            arguments[named[0]] = arguments[named[0]].with_changes(value=added.value)
        elif position is not None and position < len(plain):
            arguments[plain[position]] = arguments[plain[position]].with_changes(value=added.value)
        else:
            arguments = _appended(arguments, added)
    return node.with_changes(args=arguments)


def _appended(arguments: list[cst.Arg], added: cst.Arg) -> list[cst.Arg]:
    """Return arguments with one more, on a line of its own where the others have theirs."""
    if not arguments:
        return [added]
    last = arguments[-1]
    between = arguments[-2].comma if len(arguments) > 1 else cst.MaybeSentinel.DEFAULT
    if isinstance(between, cst.MaybeSentinel):
        between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    before = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    end = added.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    return [*arguments[:-1], before, end]


def _calls_of_fit(module: MetadataWrapper, fit: FitFacts) -> Iterator[cst.Call]:
    """Yield the calls of `fit` that may be the one that was tuned."""
    for node, place in module.resolve(PositionProvider).items():
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            continue
        meant = place.start.line <= (fit.line or 0) <= place.end.line
        if meant and node.func.attr.value == "fit" and _code(node.func.value) == fit.of:
            yield node


def _is_data(index: int, argument: cst.Arg) -> bool:
    name = argument.keyword.value if argument.keyword else ""
    return name == "x" or (not name and not argument.star and index == 0)


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _behind_imports(body: Sequence[cst.BaseStatement]) -> int:
    """Return the place behind the imports at the beginning, and what stands before and among them.

    That are docstrings, calls, variables of the environment, and imports that may fail.
    """
    found = 0
    for index, each in enumerate(body):
        first = each.body[0] if isinstance(each, cst.SimpleStatementLine) else each
        if isinstance(first, cst.Import | cst.ImportFrom | cst.Try):
            found = index + 1
        elif isinstance(first, cst.Expr):
            found += found == index and isinstance(first.value, cst.SimpleString)
        elif not (isinstance(first, cst.Assign) and "environ" in _code(first)):
            break
    return found


def _strategy_lines(chosen: Configuration, *, gpus: bool) -> list[str]:
    count, kind = chosen.replicas_per_worker, "GPU" if gpus else "CPU"
    split = [
        'cpu = tf.config.list_physical_devices("CPU")[0]',
        f"parts = [tf.config.LogicalDeviceConfiguration()] * {count}",
        "tf.config.set_logical_device_configuration(cpu, parts)",
    ]
    devices = ", ".join(f'"{kind}:{index}"' for index in range(count))
    operation = OPERATIONS.get(chosen.reduction)
    reduced = f", cross_device_ops=tf.distribute.{operation}()" if operation else ""
    made = f"strategy = tf.distribute.MirroredStrategy([{devices}]{reduced})"
    return [*([] if gpus else split), made]
