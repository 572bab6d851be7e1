"""What stands in a terminal: a plan, a search while it runs, and a result.

A search is shown in lines, with a bar below them. Of a result the answer comes first, then the
explanations.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import uuid4

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.answer import Answer
from autotune.events import (
    Event,
    Notice,
    Observer,
    Planned,
    Preparing,
    TrialEnded,
    TrialStarted,
    nobody,
)
from autotune.face import for_face
from autotune.plan import Plan, StrategyPlan, times_in_words
from autotune.reason import Outcome, Rule, RuleKind
from autotune.reason.sentences import rule_text
from autotune.result.files import FILES, programs, written
from autotune.result.headline import Change, changes
from autotune.result.stored import ResultData
from autotune.result.view import PHASES, ResultView, Row, trial_row
from autotune.strategies import in_short
from autotune.text import clock, one_line, plural, roughly, sentence, size
from autotune.trial import Trial
from autotune.workload import BatchSource, FitFacts, WorkloadFacts, own_batch

HEAD = "bold dim"
"""How headings look."""
LEAST = 50
"""Columns that a configuration needs beside its figures."""
REDRAWS_PER_SECOND = 1
"""Few, because the processes that are timed share the cores with this one."""
LOG_HEADS = ("trial", "outcome", "examples/s", "vs yours", "configuration")
LOG_COLUMNS = "{:>5}  {:<13}  {:>10}  {:>8}  {}"


def columns(*heads: str) -> Table:
    """Return a table without lines; a heading that begins with `>` is of figures, `|` of names.

    Neither of these columns folds.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=HEAD)
    for head in heads:
        figures, names = head.startswith(">"), head.startswith("|")
        table.add_column(
            head.lstrip(">|"),
            justify="right" if figures else "left",
            no_wrap=figures or names,
            overflow="ellipsis" if figures or names else "fold",
        )
    return table


def named(rows: Iterable[tuple[str, str]], indent: str = "") -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(indent + name, style="dim"), Text(value))
    return table


def marked(mark: str, text: Text) -> Table:
    """Return a text behind a mark, its further lines below the text and not below the mark."""
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(mark, text)
    return grid


class Compared(NamedTuple):
    """Configurations beside their figures, or below these where they would be squeezed."""

    rows: Sequence[Row]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = ("outcome", "examples/s", "vs yours")
        lines = []
        for row in self.rows:
            notes = ", ".join(filter(None, ("your own" if row.own else "", row.not_taken)))
            name = f"{row.name} ({notes})" if notes else row.name
            style = "bold" if row.chosen else ""
            lines.append(((row.outcome, row.rate, row.ratio), name, style))
        every = zip(heads, *(cells for cells, _, _ in lines), strict=True)
        widths = [max(map(len, column)) for column in every]
        if options.max_width - sum(widths) - 2 * len(widths) >= LEAST:
            table = columns("|outcome", ">examples/s", ">vs yours", "configuration")
            for cells, name, style in lines:
                table.add_row(*cells, Text(name), style=style)
            yield table
            return
        for (outcome, figure, compared), name, style in [(heads, "", HEAD), *lines]:
            text = f"{outcome:<{widths[0]}}  {figure:>{widths[1]}}  {compared:>{widths[2]}}"
            yield Text(text, style, no_wrap=True, overflow="ellipsis")
            if name:
                yield Padding(Text(name, style), (0, 0, 0, 2))


def plan_text(plan: Plan) -> RenderableType:
    """Return what a search will look at, and why not at more."""
    parts: list[RenderableType] = [_head(plan), Text(), Text("configurations", style=HEAD)]
    parts += [line for each in plan.strategies for line in _strategy(each)]
    if any(each.axes for each in plan.strategies):
        parts += [Text(), _axes(plan)]
    return Group(*parts, Text(), Text(times_in_words(plan)))


def _head(plan: Plan) -> Text:
    head = Text.assemble(
        ("autotune ", "dim"), (plan.workload, "bold"), f" on {plan.machine}, space {plan.space}\n"
    )
    head.append(_facts(plan.facts), style="dim")
    if plan.facts.fit:
        head.append(f"\n{fit_in_words(plan.facts.fit)}", style="dim")
    if plan.facts.summed_loss:
        why, (batch, source) = rule_text(Rule(kind=RuleKind.SUMMED_LOSS)), own_batch(plan.facts)
        if source is BatchSource.KERAS:
            why = for_face(f"{why}; where yours is not {batch}, --global-batch names it")
        head.append(f"\nThe global batch stays: {why}.", style="dim")
    return head


def _facts(facts: WorkloadFacts) -> str:
    many, fit, steps = facts.how_many, facts.fit, facts.accumulated_steps
    if facts.examples and fit and fit.steps:
        before_last = (fit.steps - 1) * (facts.usual_batch or 1)
        if facts.examples <= before_last:
            many += f" (fewer than an epoch of {plural(fit.steps, 'step')} takes)"
    examples = f"{many} of {size(facts.example_bytes)}"
    updates = f"an update sees {steps} batches" if steps > 1 else ""
    model = f"a model of {facts.weights:,} weights"
    return "; ".join(filter(None, [examples, model, facts.optimizer, updates, facts.loss]))


def fit_in_words(fit: FitFacts) -> str:
    """Return which call of a script is tuned, and what trials do not do."""
    texts = [f"The fit in line {fit.line} is tuned"] if fit.line else []
    if fit.others:
        named = ((each.line, f" ({each.of})" if each.of else "") for each in fit.others)
        listed = ", ".join(f"line {line}{of}" for line, of in named)
        texts = [f"{''.join(texts) or 'One fit is tuned'}, not {listed}: --fit chooses another"]
    texts += _kept_and_left_out(fit)
    return for_face(f"{'; '.join(texts)}.") if texts else ""


def _kept_and_left_out(fit: FitFacts) -> Iterator[str]:
    if fit.only_batch:
        yield (
            f"its batches of {fit.only_batch} stay as they are, as others cannot be made of its "
            "data or trained with"
        )
    if (own := fit.own_strategy) and own.title:
        line = f" in line {own.line}" if own.line else ""
        yield (
            f"the {own.title}{line} is taken out: the script gets the strategy that is tried in "
            f"its place, with {plural(own.replicas, 'replica')} to reckon with"
        )
    if fit.left_out:
        yield f"trials leave out {', '.join(dict.fromkeys(fit.left_out))}"
    if fit.eager:
        yield (
            f"line {fit.eager} asks for eager execution, which is timed as your own and else left "
            "out"
        )
    if fit.network:
        yield (
            f"line {fit.network} uses the network, in each trial anew unless it keeps what it gets "
            "outside the working folder"
        )
    if fit.backend not in {None, "tensorflow"}:
        yield (
            f"it asks for Keras's backend {fit.backend}, but is timed, and trains in the program "
            "that is handed over, with TensorFlow's"
        )


def _strategy(plan: StrategyPlan) -> Iterator[RenderableType]:
    """Yield how many configurations it has, and below how many were left out and why."""
    yield Text(f"{plan.configurations:>6,}  {plan.title}")
    for change in plan.changes:
        yield Padding(Text(sentence(rule_text(change)), style="dim"), (0, 0, 0, 8))
    for limit in sorted(plan.limits, key=lambda limit: -limit.configurations):
        out = f"{limit.configurations:,} excluded: {sentence(rule_text(limit.rule))}"
        yield Padding(Text(out, style="dim"), (0, 0, 0, 8))


def _axes(plan: Plan) -> Table:
    table = columns("|axis", "values and meaning")
    every = [axis for each in plan.strategies for axis in each.axes]
    for name in dict.fromkeys(axis.name for axis in every):
        mine = [axis for axis in every if axis.name == name]
        values = dict.fromkeys(value for axis in mine for value in axis.values)
        # Numbers by size, and anything else as it comes.
        ordered = sorted(values, key=lambda each: each if type(each) is int else 0)
        text = Text(", ".join(map(str, ordered)))
        table.add_row(name, text.append(f"  {mine[0].meaning}", style="dim"))
    return table


class ProgressReport:
    """Follows a search in lines, with a bar of the budget if wanted.

    Its clock goes on between two events, and never goes back.
    """

    def __init__(
        self, console: Console, *, bar: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._now, self._since, self._ahead = now, now(), 0.0
        self._waited: float | None = None
        """Seconds before the search began, in which it waited for its machine; None until then."""
        self._phase = "Starting"
        self._plan: Plan | None = None
        self._running: TrialStarted | None = None
        self._running_since = 0.0
        self._headed: set[str] = set()
        self._preparing = ""
        self._bar: Live | None = None
        if bar:
            self._bar = Live(
                console=console,
                get_renderable=self._below,
                refresh_per_second=REDRAWS_PER_SECOND,
                redirect_stdout=False,
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the bar, and set what follows apart from the lines."""
        if self._bar:
            self._bar.stop()
        self._console.print()

    @property
    def elapsed(self) -> float:
        """Seconds since the first event, those before the search included."""
        return self._now() - self._since + self._ahead

    @property
    def spent(self) -> float:
        """Seconds since the search began, of its budget."""
        return self.elapsed - (self._waited or 0.0)

    def __call__(self, event: Event) -> None:
        if self._waited is None and not isinstance(event, Notice):
            self._waited = self.elapsed
        if isinstance(event, TrialStarted | TrialEnded):
            # It may tell of a search that began before this view.
            self._ahead += max(event.elapsed - self.spent, 0.0)
        match event:
            case Planned():
                self._plan, times = event.plan, Text(times_in_words(event.plan))
                self._console.print(Text(), _head(event.plan), times, Text(), sep="\n")
                if event.kept:
                    self._log(f"Resuming after {plural(len(event.kept), 'trial')}")
            case Preparing():
                self._phase = event.what
                # Some steps take turns with themselves, a run each; a log needs to hear of it once.
                if event.what != self._preparing:
                    self._log(event.what)
                self._preparing = event.what
            case Notice():
                self._log(for_face(event.text))
            case TrialStarted():
                self._phase = PHASES[event.stage]
                self._running, self._running_since = event, self.elapsed
            case TrialEnded():
                self._running = None
                self._trial(event.trial, event.answer)

    def _trial(self, trial: Trial, answer: Answer | None) -> None:
        """Print a trial, and once what each stage is for; what has no fixed length comes last."""
        if trial.stage not in self._headed:
            self._headed.add(trial.stage)
            self._log(PHASES[trial.stage])
            self._print(LOG_COLUMNS.format(*LOG_HEADS), timed=False, row=True)
        row = trial_row(trial, answer)
        # In a terminal a row ends at its edge, so what must not be lost stands below it.
        below = row.why if self._bar and trial.outcome is not Outcome.PRUNED else ""
        name = f"{row.name} - {row.why}" if row.why and not below else row.name
        figures = row.rate or "-", row.ratio or "-"
        self._print(LOG_COLUMNS.format(trial.number, trial.outcome, *figures, name), row=True)
        if below:
            self._print(f"       {below}", timed=False)

    def _log(self, text: str) -> None:
        self._print(one_line(text))

    def _print(self, line: str, *, timed: bool = True, row: bool = False) -> None:
        """Print a line, as wide as it is; a terminal wraps it, and a row ends at its edge."""
        at = clock(self.elapsed) if timed else ""
        text = Text(f"{at:>7}  {line}")
        if not self._bar:
            self._console.print(text, soft_wrap=True)
        elif row:
            self._console.print(text, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(marked(f"{at:>7}  ", Text(line)))

    def _below(self) -> RenderableType:
        # The terminal echoes ^C behind the last line; were that full, all would move down by one.
        width = self._console.width - len("^C") - 1
        spent, total = self.spent, self._plan.budget_seconds if self._plan else None
        budget = Table.grid(padding=(0, 1), expand=True)
        budget.add_column(no_wrap=True)
        budget.add_column(ratio=1)
        budget.add_column(no_wrap=True)
        bar = ProgressBar(total=total, completed=min(spent, total or 0), pulse=total is None)
        budget.add_row(clock(spent), bar, f"of {clock(total)}" if total else "")
        phase = Text(self._phase, style="bold", no_wrap=True, overflow="ellipsis")
        if now := self._running:
            running = f"Trial {now.number}, {roughly(self.elapsed - self._running_since)}: "
            phase.append(f"\n{running}{in_short(now.configuration)}", style="not bold")
        return Constrain(Group(budget, phase), width)


def terminal_report(console: Console) -> ProgressReport:
    """Return what follows a search on stderr: with a bar where that is a terminal."""
    # Not `console.is_terminal`, which colours forced in a CI job make true.
    return ProgressReport(console, bar=sys.stderr.isatty() and not console.is_dumb_terminal)


@contextmanager
def follow(*, progress: bool) -> Iterator[Observer]:
    """Show a search that runs inside this block: on stderr, or below the cell of a notebook."""
    if not progress:
        yield nobody
    elif (shell := _notebook()) is not None:
        yield _below_cell(shell)
    else:
        # In a notebook Rich would set each line as a block of its own.
        with terminal_report(Console(stderr=True, highlight=False, force_jupyter=False)) as report:
            yield report


def _notebook() -> Any:
    """Return the shell of the notebook that this runs in; None where it runs in none."""
    # Not imported: whoever runs in one has it.
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return shell if hasattr(shell, "kernel") else None


def _below_cell(shell: Any) -> Observer:
    """Return what shows a search in one output of a cell, which each event replaces."""
    text = StringIO()
    report = ProgressReport(
        Console(file=text, width=100, color_system=None, highlight=False, force_jupyter=False)
    )
    place = {"display_id": f"autotune-{uuid4().hex}"}

    def publish(*, update: bool = True) -> None:
        told = {"text/plain": text.getvalue().strip("\n")}
        shell.display_pub.publish(told, transient=place, update=update)

    def show(event: Event) -> None:
        report(event)
        publish()

    publish(update=False)
    return show


def result_text(
    result: ResultData, folder: Path, *, verbose: bool = False, fetched: bool = False
) -> RenderableType:
    """Return the answer, what failed, and what to do with the files of a folder.

    Verbosely with the table, the reasons, and the meaning of each file.
    """
    view, missing = ResultView(result), result.unsaved.files if result.unsaved else ()
    files = {name: path for name, path in written(folder).items() if name not in missing}
    parts: list[RenderableType] = [*_answer(view), Text()]
    if verbose:
        parts += [Compared(view.best)] if view.best else []
        parts += [Text(view.counts, style="dim"), Text()]
        parts += [marked(" - ", Text(each)) for each in view.reasons()]
        parts += [Text()]
    if view.failures:
        parts += [*_failures(view), Text()]
    if result.patch:
        # As the file has it.
        parts += [*_patch(programs(result)["train.patch"] or ""), Text()]
    elif result.why_no_patch and not verbose:
        parts += [Text(f"No train.patch: {result.why_no_patch}", style="dim"), Text()]
    if "train.py" in missing:
        # Not wrapped: it is a program.
        script = Text(result.script, no_wrap=True, overflow="ignore")
        parts += [Text("train.py, which the disk did not take", style=HEAD), script]
    if verbose:
        parts += [*_files(files, folder), Text()]
    for what, command, remark in view.next_steps(files, folder, fetched=fetched):
        # Never wrapped by us: a line break inside would be pasted into the shell.
        line = (f"{what:<11}", "dim"), (command, "bold"), (remark, "dim")
        parts.append(Text.assemble(*line, no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _patch(text: str) -> Iterator[Text]:
    """Yield the lines of a patch, never wrapped, because they are pasted."""
    styles = {"+": "green", "-": "red", "@": "dim"}
    for line in text.splitlines():
        yield Text(line, styles.get(line[:1], ""), no_wrap=True, overflow="ignore")


def brief(result: ResultData) -> str:
    with StringIO() as text:
        console = Console(file=text, color_system=None, highlight=False)
        console.print(*_answer(ResultView(result)), sep="\n")
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _answer(view: ResultView) -> Iterator[RenderableType]:
    time, verdict = view.headline
    yield Text(time, style="bold")
    yield Text(verdict)
    if found := changes(view.result):
        yield Text()
        yield _changed(found)


def _changed(found: Sequence[Change]) -> Table:
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    for each in found:
        table.add_row(each.name, Text(str(each.own), style="dim"), f"-> {each.new}")
    return table


def _failures(view: ResultView) -> Iterator[RenderableType]:
    """Yield two lines for each cause, because a cause often repeats."""
    yield Text("failed trials", style=HEAD)
    for each in view.failures:
        first = each.trials[0]
        head = Text.assemble((each.outcome, "red"), f"  {in_short(first.configuration)}")
        if others := ", ".join(str(trial.number) for trial in each.trials[1:]):
            noun = "trials" if len(each.trials) > 2 else "trial"
            head.append(f" (and {noun} {others})", style="dim")
        yield marked(f"{first.number:>4}  ", head)
        yield marked(" " * 6, Text(each.reason, style="dim"))


def _files(files: Mapping[str, Path], folder: Path) -> Iterator[RenderableType]:
    yield Text.assemble(("files in ", HEAD), (str(folder), "bold"), overflow="fold")
    yield named(((e.name, e.meaning) for e in FILES if e.name in files), indent="  ")
