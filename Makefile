# make demo, make test: each does all the set-up, on a machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
PEERS  := .venv-peers

.PHONY: demo test test-versions test-chaos test-cluster coverage mutants check check-gpu docs chaos schemathesis bench-pays bench-live bench-delivered bench-peers \
        bench-default-space bench-service bench-scaling bench-starts replay-tables clean

# A training of three minutes by its own settings, which ends sooner with the search in it.
demo: $(READY)
	$(BIN)/python -m tools.demo

# Unit tests on all cores; the others start processes by themselves and often wait for them, so three
# at a time, and the longest first. What is missing for some of them is installed where that needs no
# question; what was not tested all the same is said at the end.
NOT_TESTED := .cache/not-tested
test: export AUTOTUNE_NOT_TESTED = $(NOT_TESTED)
# Hundreds of processes are started, each of which would compile the whole package again.
test: export PYTHONDONTWRITEBYTECODE =
# Small matrices in many processes: more threads only wait for each other.
test: export OPENBLAS_NUM_THREADS = 1
test: $(READY)
	@mkdir -p $(dir $(NOT_TESTED)); rm -f $(NOT_TESTED)
	@$(BIN)/python tests/system.py
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal tests/unit
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder \
	  tests/integration tests/acceptance tests/browser
	@touch $(NOT_TESTED); sort $(NOT_TESTED) | uniq -c | sed 's/^ *\([0-9]*\) /Not tested (\1): /'

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy

# How much of each package the unit tests run, in lines and branches.
coverage: export OPENBLAS_NUM_THREADS = 1
coverage: $(READY)
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal --cov --cov-report=json:.cache/coverage.json tests/unit
	$(BIN)/python -m tools.coverage .cache/coverage.json

# How many small changes of the statistics and of the decision their unit tests find; an hour on two
# cores. What was not changed since is not run again; `mutmut show NAME` shows a survivor.
mutants: export OPENBLAS_NUM_THREADS = 1
mutants: $(READY)
	nice $(BIN)/mutmut run
	$(BIN)/mutmut results

# What must hold on a machine with GPUs, within ten minutes, as a table for an issue; error 77 where
# there is no GPU and so nothing was checked.
check-gpu: $(READY)
	@if command -v nvidia-smi >/dev/null; then \
	  $(BIN)/python -m pip install --quiet --constraint constraints.txt 'tensorflow[and-cuda]'; fi
	$(BIN)/python -m pytest -m gpu --session-timeout 600 tests/gpu

# Makes the pages that follow from the code, and builds them all into site/; a warning is an error.
docs: $(READY)
	$(BIN)/python -m tools.docs.write
	$(BIN)/zensical build --config-file mkdocs.build.yml --clean --strict

# Acceptance tests with the oldest versions of everything that still work, and with the newest there
# are, each in an environment of its own: Python scripts and factories, delivered programs, the doctor,
# calls from Python, and the service. Some ten minutes after an installation of 3.5 GB each.
OLDEST ?= python3.11
NEWEST ?= python3.13
TESTED := tests/acceptance/test_versions.py tests/acceptance/test_scripts.py tests/acceptance/test_tune.py \
          tests/acceptance/test_doctor.py tests/acceptance/test_serve.py
test-versions: .venv-oldest/.installed .venv-newest/.installed
	.venv-oldest/bin/python -m pytest $(TESTED)
	.venv-newest/bin/python -m pytest $(TESTED)

.venv-oldest/.installed: pyproject.toml constraints-oldest.txt
	$(OLDEST) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable '.[versions]'
	@touch $@

# Anew each day, because what is newest changes without a change here.
.venv-newest/.installed: pyproject.toml .venv-newest/.$(shell date +%F)
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[versions]'
	@touch $@

.venv-newest/.$(shell date +%F):
	$(NEWEST) -m venv .venv-newest
	@touch $@

# The service's processes killed fifty times at random, some two minutes.
test-chaos: $(READY)
	$(BIN)/python -m pytest -m "chaos and not long" tests/integration/api

# Several hosts on this machine: network namespaces, which need root, or nodes of a Ray cluster. It
# says what it lacks. One process, because tests share a cluster.
test-cluster: $(READY)
	@$(BIN)/python tests/system.py cluster
	$(BIN)/python -m pytest -m cluster tests/cluster

# They are killed at every step, then a thousand times at random on SQLite and on PostgreSQL each.
KILLS ?= 1000
chaos: $(READY)
	AUTOTUNE_TEST_KILLS=$(KILLS) $(BIN)/python -m pytest -m "chaos and long" tests/integration/api

# The service against its OpenAPI document, with a thousand examples of each call; an hour or so.
schemathesis: $(READY)
	AUTOTUNE_SCHEMATHESIS=1000 $(BIN)/python -m pytest --timeout 0 tests/integration/api/http

# What writes a page writes it only if it is told where (OUT=docs/benchmarks/NAME.md), and what changed
# since the figures that it replaces (SINCE='...').
export SINCE
PAGE = $(if $(OUT),--out $(OUT) --since "$$SINCE")

# What a search costs and saves, for trainings from a minute to twelve hours, on recorded sweeps and
# beside its peers; half an hour on two cores. Fails where a goal is missed. TABLES=conv,lstm: only these.
SEARCHES ?= 4
# Small matrices in many processes: more threads only wait for each other.
bench-pays: export OPENBLAS_NUM_THREADS = 1
bench-pays: $(READY)
	$(BIN)/python -m benchmarks.pays.score --searches $(SEARCHES) $(if $(TABLES),--tables $(TABLES)) $(PAGE)

# autotune run beside python train.py by the clock, on four workloads; some fifty minutes where nothing
# else runs. Fails where it takes more than 1.05 times as long.
bench-live: $(READY)
	$(BIN)/python -m benchmarks.pays.live $(PAGE)

# Records these sweeps on this machine, which should have nothing else to do; five to twenty minutes
# for each workload, goes on where it was stopped. TABLES=--unseen: those that took part in no choice.
replay-tables: $(READY)
	$(BIN)/python -m benchmarks.replay.record $(TABLES)

# What is promised, against what the program delivers in a quarter of an hour; some three hours for all
# ten on a quiet machine. What was run at this commit is not run again: MINUTES=10 begins none after ten.
MINUTES ?= inf
bench-delivered: $(READY)
	$(BIN)/python -m benchmarks.delivered.bench --budget 180 --seconds 900 --minutes $(MINUTES) $(PAGE)

# The default search on new workloads, on a quiet machine and a busy one, against the best that is
# known; some eighteen minutes for each of six, where nothing else runs. MINUTES as above.
bench-default-space: $(READY)
	$(BIN)/python -m benchmarks.default_space.bench --minutes $(MINUTES) $(PAGE)

# Steps of more hosts, predicted from fewer and measured on network namespaces; needs root. Some five
# minutes for each of ROUNDS rounds.
ROUNDS ?= 3
bench-scaling: $(READY)
	$(BIN)/python -m benchmarks.scaling.bench --rounds $(ROUNDS) $(PAGE)

# A trial on a cluster beside a job of Ray and a local trial; needs root. Some two minutes; fails where
# the agent is not five times as fast as the job, or half a second slower than locally.
bench-starts: $(READY)
	$(BIN)/python -m benchmarks.starts.bench $(PAGE)

# autotune against other tuners, live: some 20 minutes for each of five workloads and ten seeds,
# and so in parts. What was run at this commit is not run again; MINUTES=60 begins no part after 60.
# SEEDS=1 and CONTESTANTS='autotune tpe ...' ask for less.
bench-peers: $(PEERS)/.installed
	$(PEERS)/bin/python -m benchmarks.peers.compare --minutes $(MINUTES) $(PAGE) \
	  $(if $(SEEDS),--seeds $(SEEDS)) $(if $(CONTESTANTS),--contestants $(CONTESTANTS))

# The service's speed, delays and recovery with their goals, a quarter of an hour, on SQLite or an empty
# DATABASE=postgresql://...; writes a page only if it is told where: OUT=docs/benchmarks/service.md.
bench-service: $(READY)
	$(BIN)/python -m benchmarks.service.bench $(if $(DATABASE),--database '$(DATABASE)') \
	  $(PAGE)

clean:
	rm -rf $(VENV) $(PEERS) .venv-oldest .venv-newest autotune-out build site *.egg-info

# Names and versions are pinned by constraints.txt, so that every machine gets the same.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "autotune needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

# The alternatives bring many packages along, so they stay out of $(VENV).
$(PEERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[examples,peers]'
	@touch $@
