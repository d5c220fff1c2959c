# Needs only Python >= 3.11 and make. Everything goes into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-cluster test-browser chromium test-data bench lint format clean

help:
	@echo "make demo       learn features on the embedded photos: a table and a picture"
	@echo "make test       lint, format and type checks, then the tests"
	@echo "make test-cluster  workers of a cluster killed at random moments; POOLWISE_KILLS says how many"
	@echo "make test-browser  tests of the report in Chromium, headless; installed where apt-get and root can"
	@echo "make test-data  the tests on real data sets; POOLWISE_DATA names their folder"
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
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not data and not browser" --ignore=tests/engine
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

bench: .venv/bench
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache dist
