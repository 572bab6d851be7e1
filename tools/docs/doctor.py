"""The page of the rules that `autotune doctor` has for code."""

from collections.abc import Iterator, Mapping

from autotune.doctor.rules import rules

_HEAD = """\
<!-- Made from `autotune/doctor/rules.md` by `make docs`. -->
<!-- all parsed only: each example is the test of its rule -->
# Which mistakes does doctor find in code?

```console
$ autotune doctor train.py src/    # mistakes of distributed TensorFlow in this code
```

`autotune doctor` reads code and runs nothing, not even an import of TensorFlow. It searches folders
for Python files and notebooks, except hidden ones and virtual environments. A file that imports
neither TensorFlow nor Keras has no findings.

- Each finding is a line, `FILE:LINE:COLUMN rule sentence`. The reason and the remedy of each broken
  rule follow. `--output-format` `json` and `github` are for machines; `github` shows findings
  beside the code of a pull request.
- The exit code is 0 without findings, 1 with findings, and 2 for a wrong call, or for a file that
  cannot be read or parsed; the other files are checked nevertheless. `--exit-zero` makes 1 a 0.
- `--select RULE,RULE` and `--ignore RULE,RULE` choose the rules, once or several times; `--rules`
  lists them, and `--explain RULE` shows one with its examples.
- `--fix` edits Python files if the remedy is mechanical, such as a changed name; `--diff` shows the
  edits. Notebooks are not edited.
- `# noqa: rule` or `# autotune: ignore[rule]` at the end of a line silences a rule in the line.
  `# autotune: noqa: rule` or `# autotune: ignore-file[rule]` silences it in the file. Without a
  rule they silence all.
- Calls that only newer versions lack are findings if the project allows these versions: by
  `--target-version`, by its settings, or by `pyproject.toml` and `requirements.txt`. Code that asks
  for a version, or expects an ImportError, has no such findings.
- In a notebook, each cell of Python is checked, and so are programs that `%%writefile` writes. A
  cell that cannot be parsed is named, and the exit code is 2.
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

A rule has a finding only if it can follow every name to its value within the one file. An empty
report is therefore no proof. Two names alone count by themselves: a parameter called `strategy`,
and a batch size called global or per replica.

These patterns have no rule, because TensorFlow 2.21 and Keras 3.15 handle them, or because code
alone does not show the mistake:

- a `map` without `num_parallel_calls`, and a missing `prefetch`: tf.data runs stateless maps
  in parallel, and prefetches; only a measurement shows a slow input;
- metrics, variables and a plain SGD from outside of the scope: all replicas update the same one;
- a Keras loss object with its usual reduction in a custom loop: it divides by the replicas;
- `variable.assign_add(1.0)` in several threads: it reads and writes under a lock of its own.

## Rules

Each finding in the examples ends in `# <- here`. The lines that begin with `+` are the remedy, in
place of those that begin with `-`.

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
