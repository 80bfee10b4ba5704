# PY is the Python that makes the environment: 3.11 to 3.13.
PY ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --constraint constraints.txt
# The hashes of what the image of k8s/ installs, on the Python of its base.
HASHED := $(BIN)/uv pip compile --quiet --no-header --no-annotate --generate-hashes --constraints constraints.txt \
	--python-version 3.11 --python-platform x86_64-manylinux_2_28
# Two processes; tests/support/groups.py says which tests stay together in one of them, and which come first.
PYTEST := $(BIN)/pytest -q -n 2 --no-loadscope-reorder
# How many examples a property is tried on: quick or nightly (tests/conftest.py).
EXAMPLES := quick
# Images of containers set it. Tests start hundreds of Python processes, and each would compile this package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check quick nightly all lint docs lock

help:              ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile | expand -t 16

demo: .venv/.run   ## install what running needs, then run a whole study on an invented world, into runs/
	$(BIN)/ticlm run demo --root runs

test: lint         ## install what developing needs, then run every check and every test meant for every change
	$(PYTEST) --durations=40 -m 'not nightly' --hypothesis-profile=$(EXAMPLES)

check: lint quick  ## what a change must pass before anything else

quick: .venv/.dev  ## the tests that take no more than seconds each, and no Ray
	$(PYTEST) -m 'not slow and not nightly and not ray'

nightly: .venv/.dev  ## the rest: more seeds, sizes and processes, and more examples of every property
	$(PYTEST) --durations=40 -m 'nightly or hypothesis' --hypothesis-profile=nightly

# A property that is tried on more examples is not tried on fewer before.
all: EXAMPLES := nightly
all: test          ## both, in less time; with UNTIL=SECONDS (as date +%s says it), no nightly test begins later
	$(PYTEST) --durations=40 -rs -m nightly --hypothesis-profile=nightly $(if $(UNTIL),--until=$(UNTIL))

# mypy gives its processes three seconds to start, which a busy machine may miss: then one process does the work.
lint: .venv/.dev   ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n 2 || $(BIN)/mypy

docs: .venv/.docs demo  ## the documentation site, offline, into build/site, with the demo's report as a sample
	$(BIN)/python docs/build.py runs/reports

# Without local versions (+cpu, +cu128), so that wheels for CPU and for CUDA both match.
lock: .venv/.dev   ## pin what is installed now, in constraints.txt, and what the image installs, by hashes
	$(PIP) -e '.[all,bench,dev,docs]'
	$(BIN)/pip freeze --exclude-editable > .venv/freeze.txt
	sed -E 's/\+(cpu|cu[0-9]+)$$//' .venv/freeze.txt > constraints.txt
	$(PIP) uv
	$(HASHED) pyproject.toml --extra all -o k8s/image/requirements.txt
	echo setuptools | $(HASHED) - -o k8s/image/build-requirements.txt
	touch .venv/.run .venv/.dev .venv/.docs

# A stamp is older than what it was installed from where something has changed since.
.venv/.run: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PY) -m venv .venv
	$(PIP) -e '.[charts]'
	touch $@

.venv/.docs: .venv/.run
	$(PIP) -e '.[docs]'
	touch $@

.venv/.dev: .venv/.run
	$(PIP) -e '.[dev]'
	touch $@
