"""The page as a whole."""

import re
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest

from autotune.answer import Ended
from autotune.checks.certificate import Certificate, see, undecided
from autotune.config import Configuration
from autotune.errors import OutputError
from autotune.options import SearchOptions
from autotune.reason import CheckKind, Message, Outcome
from autotune.result.files import programs
from autotune.result.html import coded, page
from autotune.search.setup import TuningRequest
from autotune.search.tune import tune
from autotune.workload import Factory, Workload
from tests.engines.fake import FakeEngine, fake_machine

from .conftest import DIAGNOSED, RESULT, changed, make_trial, read

MEGABYTE = 1_000_000
HOSTILE = "</script></style><script>alert(\"1\")</script><b onclick='x'>&amp; {{ 7*7 }} \x00\ud800"


def test_it_tells_all_that_somebody_who_was_not_there_needs() -> None:
    """Verdict, figures with intervals, reasons, failures, program, machine and seed."""
    found = read(DIAGNOSED)
    [answer] = found.find("h1")
    [more] = (e for e in found.find("p") if e.attributes.get("class") == "more")
    assert " ".join(f"{answer.text} {more.text}".split()) == DIAGNOSED.summary
    text = " ".join(found.text.split())
    for told in (
        "1.45 (1.32 to ",
        "Run-to-run variation is 5% (standard deviation, from no repeat and a prior of 6%).",
        "Worker 1 was killed by SIGSEGV.",
        "waiting for input",
        "it pays from a per-replica batch of about 300",
        "print('trained')",
        "TensorFlow 2.21.0",
        "digits:model_fn on digits:dataset_fn",
        "Seed0",
    ):
        assert told in text
    assert text.lower().count("worker 1 was killed by sigsegv") == 1, "told twice"


def test_the_programs_can_be_copied_from_it() -> None:
    """What trains, and what starts it here, by Slurm, Kubernetes and Ray, to the last byte."""
    script = "import os\n\n\ndef main() -> None:\n\tprint(f'{1}<&>')\n\n\nmain()\n"
    config = Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data")
    changes = {"configuration": config, "script": script, "launch": "print('launched')\n"}
    group = RESULT.model_copy(update=changes)
    texts = {name: text for name, text in programs(group).items() if text}
    launchers = {"launch.py", "launch.slurm", "jobset.yaml", "launch_ray.py"}
    assert set(texts) == {"train.py", *launchers}
    assert {script, *texts.values()} <= {each.text for each in read(group).find("pre")}


def test_every_figure_has_its_table() -> None:
    """What is drawn can be read, and what cannot be read is hidden from those who listen."""
    figures = list(read(DIAGNOSED).find("figure"))
    assert len(figures) == 2
    for figure in figures:
        assert list(figure.find("table"))
        for drawing in figure.find("svg"):
            assert {"aria-hidden", "y"} & drawing.attributes.keys()


def test_it_loads_nothing() -> None:
    """No address of anything is in it, and its policy allows none."""
    text = page(DIAGNOSED)
    assert not [w for w in ("http:", "https:", "url(", " src=", " href=", " style=") if w in text]
    policies = [each.attributes.get("content", "") for each in read(DIAGNOSED).find("meta")]
    assert any("default-src 'none'" in each and "unsafe" not in each for each in policies)


def test_nothing_that_others_wrote_is_markup() -> None:
    """Reasons, names, values and the program itself are text, whatever they hold."""
    hostile = Factory(name=HOSTILE, module="m", arguments=((HOSTILE, HOSTILE),))
    bad = {"outcome": Outcome.CRASHED, "reason": Message(text=HOSTILE), "examples_per_second": None}
    own = Configuration(arguments=((HOSTILE, HOSTILE),))
    given = changed(
        configuration=own,
        script=f"x = '''{HOSTILE}'''\n",
        launch=f"# {HOSTILE}\n",
        study=HOSTILE,
        trials=(*RESULT.trials, make_trial(20, own, **bad), make_trial(21, own)),
        workload=Workload(model=hostile, dataset=hostile, callbacks=hostile),
        machine=fake_machine(processor=HOSTILE),
        facts=RESULT.facts.model_copy(update={"optimizer": HOSTILE, "loss": HOSTILE}),
        certificate=Certificate(
            checks=(undecided(HOSTILE, see(CheckKind.OTHER_START, name=HOSTILE)),)
        ),
    )
    plain, found = read(RESULT), read(given)
    assert len(list(found.find("script"))) == len(list(plain.find("script"))) == 1
    assert len(list(found.find("style"))) == 1
    assert not [each for each in found.find("b") if "onclick" in each.attributes]
    assert "{{ 7*7 }}" in found.text
    assert "alert" not in next(found.find("script")).text
    page(given).encode()


def test_three_hundred_trials_fit_a_megabyte() -> None:
    """However long the search was, the page can be sent to somebody; a third of them failed."""
    bad = {"outcome": Outcome.FAILED, "examples_per_second": None}
    trials = tuple(
        make_trial(
            i,
            Configuration(per_replica_batch=i + 1, xla=True, cache="memory", steps_per_execution=8),
            **({} if i % 3 else bad | {"reason": Message(text=f"{i} " + "a long reason " * 20)}),
        )
        for i in range(300)
    )
    given = changed(trials=trials)
    assert len(page(given).encode()) < MEGABYTE
    figure = next(read(given).find("figure"))
    assert len(list(figure.find("tr"))) < 40


def test_a_page_leaves_out_what_there_is_nothing_of() -> None:
    """An interrupted search has a page, too, without empty sections."""
    bare = changed(
        trials=(make_trial(0),),
        configuration=Configuration(per_replica_batch=128),
        told={"ended": Ended.INTERRUPTED},
    )
    text = " ".join(read(bare).text.split())
    assert "The search was interrupted." in text
    for heading in ("Where the time goes", "pruned, skipped or failed"):
        assert heading not in text


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="Choose another"):
        RESULT.save(tmp_path / "file")


def test_what_stands_in_backticks_is_code() -> None:
    assert coded("call `map` or `batch`") == "call <code>map</code> or <code>batch</code>"
    assert coded("a ` alone") == "a ` alone"
    assert coded("go on (--resume)") == 'go on (<code class="option">--resume</code>)'
    assert coded("`tune --resume`") == "<code>tune --resume</code>"
    assert coded("`<b>` <i>") == "<code>&lt;b&gt;</code> &lt;i&gt;"


def test_a_search_keeps_what_it_was_asked(workload: Workload, tmp_path: Path) -> None:
    """The facts of its report name its space, budget and seed."""
    options = SearchOptions(budget=40.0, max_trials=3, seed=7)
    request = TuningRequest(workload=workload, space="quick", options=options, out=tmp_path)
    found = tune(request, FakeEngine(lambda c: 1000.0 / c.replicas))
    shown = [each.text for each in read(found).find("dd")]
    asked = {"quick", '{"budget":40.0,"max_trials":3,"seed":7}', "7"}
    assert asked <= set(shown)


def test_a_cell_shows_answers_plot_code_and_report() -> None:
    """Nothing that others wrote is markup, and nothing is loaded."""
    hostile = Message(text="<script>alert(1)</script>")
    trials = tuple(each.model_copy(update={"reason": hostile}) for each in RESULT.trials)
    html = RESULT.model_copy(update={"trials": trials})._repr_html_()
    for told in ("Distribute: ", "recommended", "1.45 (", "&lt;script&", "<rect"):
        assert told in html
    assert RESULT.script in unescape(html)
    assert "<script" not in html
    assert "http" not in html
    (report,) = re.findall(r'href="data:text/html;base64,([^"]+)"', html)
    assert b"<h1>Training takes " in b64decode(report)
    assert len(html) < 200_000
