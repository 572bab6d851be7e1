"""Tells one replayed search step by step, as docs/decides.md does.

python -m benchmarks.pays.steps TABLE [--train-for 1h] [--seed 0]
"""

import argparse

from autotune.answer import Answer
from autotune.search.search import Search, Step
from autotune.strategies import in_short
from autotune.text import parse_seconds, roughly
from benchmarks.pays.cases import Case
from benchmarks.replay.replay import Replayed, replay

HEAD = "| | runs | expected to save | takes | shows, examples/s | distributing pays |"


def main() -> None:
    """Print a row for each step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table")
    parser.add_argument("--train-for", default="1h")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    made: list[Step] = []

    class Noting(Search):
        def next(self) -> Step | None:
            step = super().next()
            made.extend([step] if step else [])
            return step

    seconds = parse_seconds(asked.train_for)
    found = replay(Case(table=asked.table).world, asked.seed, seconds, search=Noting)
    print(HEAD)
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for line in lines(made, found):
        print(line)
    print(f"\n{found.answer.verdict}, {found.answer.probability:.0%}; {roughly(found.seconds)}")


def lines(steps: list[Step], found: Replayed) -> list[str]:
    """Return a line of the table for each step."""
    runs = iter(found.ended)
    rows = []
    for number, each in enumerate(steps, 1):
        what, shown, pays = "certify ", "", ""
        if each.what == "run":
            ended = next(runs, None)
            trial, what = ended.trial if ended else None, ""
            rate = trial.examples_per_second if trial else None
            shown = f"{rate:,.0f}" if rate else str(trial and trial.outcome)
            answer = ended.answer if ended else None
            pays = f"{distributes(answer):.0%}" if answer else ""
        saves = "" if each.saves in (0.0, float("inf")) else roughly(each.saves)
        cells = (f"{number}", f"{what}{in_short(each.configuration)}", saves)
        rows.append(f"| {' | '.join((*cells, roughly(each.takes), shown, pays))} |")
    return rows


def distributes(answer: Answer) -> float:
    """Return the probability that distributing gains more than the margin."""
    chosen = answer.recommended.distributed
    return answer.probability if chosen else 1 - answer.probability


if __name__ == "__main__":
    main()
