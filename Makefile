# Every target makes the virtual environment it needs and uses it again the next time.
# Wanted: Python 3.11 or newer (PYTHON=... chooses one) and a C++20 compiler.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := pyproject.toml CMakeLists.txt $(wildcard core/*)

.PHONY: demo test lint bench docs clean

demo: $(VENV)/.run
	$(BIN)/privroute demo

test: $(VENV)/.test lint
	$(BIN)/pytest -n auto

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.test
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script --json || exit 1; done

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "privroute needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# One stamp per set of extras: a demo does not wait for linters, nor a test for the documentation tools.
$(VENV)/.run: EXTRAS := all
$(VENV)/.test: EXTRAS := test,lint
$(VENV)/.docs: EXTRAS := docs
$(VENV)/.run $(VENV)/.test $(VENV)/.docs: $(VENV)/.python $(CORE)
	@echo "Installing privroute[$(EXTRAS)] into $(VENV) (builds the compiled core, about a minute the first time)"
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site demo
