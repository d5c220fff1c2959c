# Needs only Python >= 3.11 and make. Everything goes into .venv.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: help demo test test-cluster test-browser chromium test-data test-docs docs test-oldest coverage dist bench lint format clean

help:
	@echo "make demo       learn features on the embedded photos: a table and a picture"
	@echo "make test       lint, format and type checks, then the tests"
	@echo "make test-cluster  workers of a cluster killed at random moments; POOLWISE_KILLS says how many"
	@echo "make test-browser  tests of the report in Chromium, headless; installed where apt-get and root can"
	@echo "make test-data  the tests on real data sets; POOLWISE_DATA names their folder"
	@echo "make docs       the site with its gallery, into docs/_build/html; make test-docs runs the gallery and checks its numbers"
	@echo "make test-oldest  the tests with the oldest supported version of every dependency"
	@echo "make coverage   the tests with branch coverage of src; .coverage-html/ has the lines"
	@echo "make dist       wheel and sdist: checked, and the wheel tried in an empty environment"
	@echo "make bench      the benchmarks, one JSON line each"
	@echo "make lint       the checks alone; make format fixes what can be fixed"

.venv/run: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("poolwise needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/test: .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

.venv/bench: .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

.venv/docs: .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

demo: .venv/run
	$(BIN)/poolwise demo

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not data and not browser and not docs and not cluster" --ignore=tests/engine
	$(BIN)/pytest -q -m "not cluster" tests/engine

test-cluster: .venv/test
	$(BIN)/pytest -m cluster -v

test-browser: .venv/test chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[browser]'
	$(BIN)/pytest -m browser -v

# Debian's, where it is not here yet; an error that says why where it cannot be installed.
chromium:
	@{ command -v chromium && command -v chromedriver; } >/dev/null || \
	  { { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || { echo "no Chromium, and only root can install it, with apt-get"; exit 1; }; \
	    apt-get install -y -qq chromium chromium-driver || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; }; }

test-data: .venv/test
	$(BIN)/pytest -m data -v -s

# Warnings are errors. What did not change since the last build is not run again.
docs: .venv/docs
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -n -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

test-docs: .venv/test .venv/docs
	MPLBACKEND=agg $(BIN)/pytest -v tests/docs

bench: .venv/bench
	$(BIN)/python benchmarks/run.py

# numba's oldest wheels end with Python 3.13: PYTHON must be 3.11 or 3.12 here.
test-oldest:
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) tools/oldest.py report > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-oldest/oldest.txt -e '.[test,report]'
	.venv-oldest/bin/pytest -q -n 2 --dist loadfile -m "not data and not browser and not docs and not cluster" --ignore=src

# Two runs, as in `test`. What runs in numba or in another process is not seen.
coverage: .venv/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pytest-cov>=5'
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not data and not browser and not docs and not cluster" --ignore=tests/engine --cov --cov-report=
	$(BIN)/pytest -q -m "not cluster" tests/engine --cov --cov-append --cov-report=html --cov-report=term:skip-covered

dist: .venv/test
	rm -rf dist && $(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tools/check_dist.py dist
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd .venv-wheel && bin/poolwise --version && bin/poolwise demo --save-images photos && \
	  bin/poolwise fit photos/train -o m.safetensors --codes 16 --quiet && bin/poolwise evaluate m.safetensors photos/test --quiet

clean:
	rm -rf .venv .venv-oldest .venv-wheel .coverage .coverage-html .pytest_cache .mypy_cache .ruff_cache dist
	rm -rf docs/_build docs/auto_gallery docs/api/generated docs/api/backreferences
