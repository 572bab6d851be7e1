"""The page of the rules that `autotune doctor` has for code."""

from collections.abc import Iterator, Mapping

from autotune.doctor.rules import rules

_HEAD = """\
<!-- Made from `autotune/doctor/rules.md` by `make docs`. -->
<!-- all parsed only: each example is the test of its rule -->
# autotune doctor

```console
$ autotune doctor train.py src/    # which mistakes of distributed TensorFlow does this code make?
```

It reads code, and runs nothing: no TensorFlow is imported. Folders are
searched for Python files and notebooks; hidden ones and virtual environments are left out. A file
that imports neither TensorFlow nor Keras holds nothing to find.

- Each finding is a line, `FILE:LINE:COLUMN rule sentence`, and each rule that was broken says why
  it matters and what to write instead. `--output-format` `json` and `github` are for
  machines; `github` shows findings beside the code of a pull request.
- The exit code is 0 if nothing was found, 1 if something was, and 2 if the call was wrong or a file
  could not be read or parsed; the other files are checked all the same. `--exit-zero` makes 1 a 0.
- `--select RULE,RULE` and `--ignore RULE,RULE` choose the rules, once or several times; `--rules`
  lists them, and `--explain RULE` shows one with its examples.
- `--fix` edits Python files where the remedy is mechanical, such as a name that has changed;
  `--diff` shows what it would edit. Notebooks are not edited.
- `# noqa: rule` or `# autotune: ignore[rule]` at the end of a line silences a rule there, and
  `# autotune: noqa: rule` or `# autotune: ignore-file[rule]` in the whole file; all of them where
  no rule is named.
- What only newer versions lack is told only where the project allows them: by `--target-version`,
  by its settings, or by what `pyproject.toml` and `requirements.txt` require. Code that asks for a
  version, or expects an ImportError, is left alone.
- In a notebook, each cell that is Python is checked, also the programs that `%%writefile` writes; a
  cell that is not is named, and the exit code is 2.
- A file that takes more than 20 seconds of computing is given up and named.

A project's settings stand in its `pyproject.toml`:

```toml
[tool.autotune.doctor]
select = ["created-outside-scope", "mean-over-replica"]  # default: all
ignore = ["sync-every-step"]
exclude = ["legacy", "*_pb2.py"]
target-version = "2.15"
```

As a hook of pre-commit, in a project's `.pre-commit-config.yaml`:

```text
repos:
  - repo: URL  # of this repository
    rev: COMMIT
    hooks:
      - id: autotune-doctor
```

A rule speaks up only where it can follow every name to what it stands for, within the one file.
What it cannot follow it leaves alone, so silence is no proof. Only two things are told by their
names: a parameter called `strategy`, and a batch size called global or per replica.

What is no rule, because TensorFlow 2.21 and Keras 3.15 get it right by themselves, or because code
alone does not show it:

- a `map` without `num_parallel_calls`, and a missing `prefetch`: tf.data runs maps that keep no
  state in parallel, and prefetches; whether the input is too slow is for a measurement to say;
- metrics, variables and a plain SGD from outside of the scope: all replicas update the same one;
- a Keras loss object with its usual reduction in a custom loop: it divides by the replicas;
- `variable.assign_add(1.0)` in several threads: it reads and writes under a lock of its own.

## Rules

In the examples, what is found ends in `# <- here`. The lines that begin with `+`, in place of those
that begin with `-`, are right.

| rule | severity | finds |
| --- | --- | --- |
"""


def pages() -> Mapping[str, str]:
    return {"doctor.md": _HEAD + "".join(f"{line}\n" for line in _lines())}


def _lines() -> Iterator[str]:
    for rule in rules().values():
        yield f"| [{rule.name}](#{rule.name}) | {rule.severity.value} | {rule.title} |"
    for rule in rules().values():
        yield from ("", f"### {rule.name}", "", rule.page)
