# Every target makes the virtual environment it needs and uses it again the next time.
# Requirements: Python 3.11 or newer (PYTHON=... chooses one) and a C++20 compiler.

# Two at a time: one target downloads while another compiles.
MAKEFLAGS += --jobs=2

# Modules are compiled when they are first imported, and kept: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := pyproject.toml CMakeLists.txt $(wildcard core/*)

, := ,

COVERAGE_FLOOR := 95

# One worker more than cores: tests that wait for a browser, a server or a worker leave theirs to the others.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)

SANITIZED := build/sanitized/privroute
BENCHMARKS := $(filter-out benchmarks/networks.py benchmarks/servers.py benchmarks/checkout.py benchmarks/history.py benchmarks/flow_mechanisms.py \
  benchmarks/mutants.py benchmarks/mutation.py \
  $(wildcard benchmarks/endurance_*.py),$(wildcard benchmarks/*.py))

.PHONY: demo test lint sanitize browser servers coverage lowest constraints compilers kernels aarch64 plain bench docs wheel clean

demo: $(VENV)/.run
	$(BIN)/privroute demo

test: servers $(VENV)/.test sanitize lint
	$(BIN)/pytest -n $(WORKERS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/cppcheck --enable=warning,performance,portability --std=c++20 --suppressions-list=.cppcheck-suppressions \
	  --inline-suppr --error-exitcode=1 --quiet core
	$(BIN)/clang-format --dry-run --Werror core/*.cpp core/*.hpp tests/core/*.cpp
	$(BIN)/oxlint --deny-warnings src/privroute/serve/page
	$(BIN)/hadolint deploy/*.Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet .github/workflows

# Lines of the package that the tests run, with a floor. The compiled core and processes that tests start do not count.
coverage: $(VENV)/.test
	$(BIN)/pytest -n $(WORKERS) --cov=privroute --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_FLOOR)

# Versions of everything that the tests and linters use, so that they are the same on every machine. `make constraints`
# takes the newest ones that fit pyproject.toml.
constraints: $(VENV)/.python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header \
	  --extra test --extra lint --extra docs --extra sumo --extra spark --no-emit-package privroute --output-file constraints.txt

# The oldest versions that pyproject.toml allows, of everything that the package itself needs, in an environment of its own.
lowest: $(VENV)/.python
	$(BIN)/python -m pip install --quiet uv
	$(PYTHON) -m venv --clear build/lowest
	mkdir -p build && $(BIN)/uv pip compile pyproject.toml --quiet --resolution lowest-direct --extra all \
	  --python build/lowest/bin/python --no-emit-package privroute --output-file build/lowest.txt
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --constraint build/lowest.txt '.[all]' hypothesis httpx \
	  mpmath openmatrix playwright pytest pytest-xdist
	cd build/lowest && bin/privroute demo --out demo >/dev/null
	build/lowest/bin/python -m pytest -q -n auto -W default tests/network tests/release tests/policy tests/privacy tests/study \
	  tests/history/test_trips.py tests/serve/test_api.py tests/serve/test_answers.py

# The compiled core with warnings as errors by both compilers, where they are installed.
compilers: $(VENV)/.test
	for compiler in g++ clang++; do command -v $$compiler >/dev/null || continue; \
	  CXX=$$compiler $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/compilers/$$compiler . \
	    --config-settings=cmake.define.PRIVROUTE_WERROR=ON --config-settings=build-dir=build/compile-$$compiler || exit 1; done

# Vectors stay within one file, so that their calling convention (psabi) does not matter.
# The kernels without Python, here and for 64-bit ARM under qemu-user (Debian: g++-aarch64-linux-gnu and qemu-user).
KERNELS := tests/core/kernels_test.cpp $(addprefix core/,assignment.cpp bush_solver.cpp elimination.cpp projection.cpp \
  projection_exact.cpp projection_plain.cpp projection_plain8.cpp projection_plan.cpp projection_scaling.cpp route_sets.cpp)
STRICT := -std=c++20 -O2 -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-psabi -Werror -ffp-contract=off -pthread
kernels:
	@mkdir -p build
	$(CXX) $(STRICT) $(KERNELS) -o build/kernels && build/kernels
aarch64:
	@mkdir -p build
	aarch64-linux-gnu-g++ $(STRICT) -static $(KERNELS) -o build/kernels-aarch64 && qemu-aarch64 build/kernels-aarch64

# The plain kernels, as on machines without vector instructions.
plain: $(VENV)/.test
	PRIVROUTE_INSTRUCTION_SET=plain $(BIN)/pytest -n $(WORKERS)

# The page is tested in Chromium. Under CI=true it is installed where there is none, and then the tests insist on it.
browser:
	@if [ "$$CI" = true ] && ! command -v chromium >/dev/null; then \
	  sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends chromium; fi

# Ledgers and trips on servers are tested with a PostgreSQL and a Spark, which needs Java, and the proxy's configuration
# with nginx, and a clock that is set back with faketime. Under CI=true they are installed where there are none, and then the tests insist on them.
servers: browser
	@if [ "$$CI" = true ]; then \
	  missing="$$(ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || echo postgresql) \
	    $$(command -v java >/dev/null || echo openjdk-17-jre-headless) \
	    $$([ -x /usr/sbin/nginx ] || echo nginx) $$(command -v openssl >/dev/null || echo openssl) \
	    $$(command -v faketime >/dev/null || echo faketime)"; \
	  sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  if [ -n "$$(echo $$missing)" ]; then \
	    $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends $$missing; fi; fi

# The compiled core under address and undefined-behaviour sanitizers, on the tests that drive it (without the largest
# network, which would take long). Python's own allocations are not ours to check for leaks.
sanitize: $(VENV)/.test $(SANITIZED)/.built
	PRIVROUTE_TEST_CORE=$(SANITIZED) ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/pytest -q -n auto -p no:cacheprovider -k "not Chicago and not chicago and not ctrl_c and not thousands" tests/policy tests/flows \
	  tests/serve/test_answers.py tests/network/test_plain_tables.py

$(SANITIZED)/.built: $(VENV)/.python $(CORE)
	@echo "Building the core with sanitizers"
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/sanitized . \
	  --config-settings=cmake.define.PRIVROUTE_SANITIZE=ON --config-settings=build-dir=build/sanitize
	$(BIN)/python -m zipfile -e build/sanitized/*.whl build/sanitized
	@rm build/sanitized/*.whl && touch $@

# Builds a wheel and runs the demo from it in an empty environment, so that what it lacks is noticed here.
wheel: $(VENV)/.python
	rm -rf dist build/try-wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv build/try-wheel
	wheel=$$(ls dist/*.whl) && build/try-wheel/bin/python -m pip install --quiet "$$wheel[all]"
	cd build/try-wheel && bin/privroute demo --out demo >/dev/null && bin/privroute report demo/release --out demo/report.html
	@ls -l dist/*.whl

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.bench
	@$(if $(BENCHMARKS),,echo "there is nothing to run: no scripts in benchmarks/"; exit 1)
	@for script in $(BENCHMARKS); do \
	  echo "== $$script"; $(BIN)/python $$script --json || exit 1; done

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "privroute needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# One stamp per set of extras: a demo does not wait for linters. To compile all modules at once would take a minute, for many
# that nothing imports.
$(VENV)/.run: EXTRAS := all
$(VENV)/.test: EXTRAS := test,lint,docs$(if $(filter true,$(CI)),$(,)sumo$(,)spark)
$(VENV)/.docs: EXTRAS := docs
$(VENV)/.bench: EXTRAS := all,bench
$(VENV)/.run $(VENV)/.test $(VENV)/.docs $(VENV)/.bench: $(VENV)/.python $(CORE)
	@echo "Installing privroute[$(EXTRAS)] into $(VENV) (builds the compiled core, about a minute the first time)"
	$(BIN)/python -m pip install --quiet --no-compile $(if $(findstring test,$(EXTRAS)),--constraint constraints.txt) \
	  --editable '.[$(EXTRAS)]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site demo
