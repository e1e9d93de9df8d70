# Every target makes the virtual environment it needs and uses it again the next time.
# Requirements: Python 3.11 or newer (PYTHON=... chooses one) and a C++20 compiler.

# Two at a time: one target downloads while another compiles.
MAKEFLAGS += --jobs=2

# Ninja would ask make for permission to start compilers, through files that pip closes.
unexport MAKEFLAGS

# Modules are compiled when they are first imported, and kept: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
CORE   := CMakeLists.txt $(wildcard core/*)
CI     ?= false

# What all tests need; under CI=true it is more.
TESTED := servers $(VENV)/$(if $(filter true,$(CI)),.full,.test)

COVERAGE_FLOOR := 95

# One worker more than cores: tests that wait for a browser, a server or a process leave theirs to the others.
CORES   := $(shell getconf _NPROCESSORS_ONLN)
WORKERS := $(shell expr $(CORES) + 1)

# Seconds of processor time that a test without the mark `slow` may take: four times what it should.
CPU_LIMIT := 1

SANITIZED := build/sanitized/privroute
BENCHMARKS := $(filter-out benchmarks/networks.py benchmarks/servers.py benchmarks/checkout.py benchmarks/history.py \
  benchmarks/flow_mechanisms.py benchmarks/mutants.py benchmarks/mutation.py $(wildcard benchmarks/endurance_*.py), \
  $(wildcard benchmarks/*.py))

# $(call programs,PROGRAM=PACKAGE ...) installs the Debian packages of programs that are missing, under CI=true only.
define programs
@if [ "$(CI)" = true ]; then missing=; PATH="$$PATH:/usr/sbin:$$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')"; \
  for one in $(1); do command -v "$${one%%=*}" >/dev/null || missing="$$missing $${one#*=}"; done; \
  if [ -n "$$missing" ]; then sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
    $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends $$missing; fi; fi
endef

.PHONY: help demo test quick core fix suite style lint sanitize servers coverage lowest constraints compilers kernels \
  aarch64 plain bench docs wheel clean

demo: $(VENV)/.core ## learn a private policy from simulated days on Sioux Falls
	$(BIN)/privroute demo

test: sanitize lint ## everything that must pass: linters, the core under sanitizers, all tests
suite: ## all tests; T=tests/network for those of a folder
test suite: $(TESTED)
	$(BIN)/pytest -n $(WORKERS) $(T)

quick: style ## linters without cppcheck, and the tests that are not slow; T=tests/network for those of a folder
	$(BIN)/pytest -q -n $(CORES) -m "not slow" --cpu-limit $(CPU_LIMIT) $(T)

core: $(VENV)/.core ## compile what an edit of core/ touches

fix: $(VENV)/.test ## let the linters correct what they can, and format
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format --quiet .
	$(BIN)/clang-format -i core/*.cpp core/*.hpp tests/core/*.cpp
	-$(BIN)/oxlint --fix src/privroute/serve/page

style: $(VENV)/.test ## linters that take a second each
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror core/*.cpp core/*.hpp tests/core/*.cpp
	$(BIN)/oxlint --deny-warnings src/privroute/serve/page
	$(BIN)/hadolint deploy/*.Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet .github

lint: style ## all linters
	@mkdir -p build/cppcheck
	$(BIN)/cppcheck --enable=warning,performance,portability --std=c++20 --suppressions-list=.cppcheck-suppressions \
	  --inline-suppr --error-exitcode=1 --quiet --cppcheck-build-dir=build/cppcheck core

# Lines of the package that the tests run, with a floor. The compiled core and processes that tests start do not count.
coverage: $(TESTED) ## all tests, with the lines of the package that they run
	$(BIN)/pytest -n $(WORKERS) --cov=privroute --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_FLOOR)

# Versions of everything that the tests and linters use, so that they are the same on every machine.
constraints: $(VENV)/.python ## renew constraints.txt: the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header \
	  --extra test --extra lint --extra docs --extra sumo --extra spark --group build --no-emit-package privroute \
	  --output-file constraints.txt

# The oldest versions of everything that the package itself needs, in an environment of its own.
lowest: $(VENV)/.python ## tests with the oldest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet uv
	$(PYTHON) -m venv --clear build/lowest
	mkdir -p build && $(BIN)/uv pip compile pyproject.toml --quiet --resolution lowest-direct --extra all \
	  --python build/lowest/bin/python --no-emit-package privroute --output-file build/lowest.txt
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --constraint build/lowest.txt '.[all]' hypothesis \
	  httpx mpmath openmatrix playwright pytest pytest-xdist
	cd build/lowest && bin/privroute demo --out demo >/dev/null
	build/lowest/bin/python -m pytest -q -n auto -W default tests/network tests/release tests/policy tests/privacy \
	  tests/study tests/history/test_trips.py tests/serve/test_api.py tests/serve/test_answers.py

# With warnings as errors.
compilers: $(VENV)/.tools ## compile the core with GCC and Clang
	$(call programs,clang++=clang)
	for compiler in g++ clang++; do command -v $$compiler >/dev/null || continue; \
	  CXX=$$compiler $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation . \
	    --wheel-dir build/compilers/$$compiler --config-settings=build-dir=build/compile-$$compiler \
	    --config-settings=cmake.define.PRIVROUTE_WERROR=ON || exit 1; done

# Vectors stay within one file, so that their calling convention (psabi) does not matter.
KERNELS := tests/core/kernels_test.cpp $(addprefix core/,assignment.cpp bush_solver.cpp elimination.cpp projection.cpp \
  projection_exact.cpp projection_plain.cpp projection_plain8.cpp projection_plan.cpp projection_scaling.cpp \
  route_sets.cpp)
STRICT := -std=c++20 -O2 -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-psabi -Werror -ffp-contract=off -pthread
kernels: ## tests of the kernels without Python
	@mkdir -p build
	$(CXX) $(STRICT) $(KERNELS) -o build/kernels && build/kernels
aarch64: ## the same for 64-bit ARM under qemu-user
	$(call programs,aarch64-linux-gnu-g++=g++-aarch64-linux-gnu qemu-aarch64=qemu-user)
	@mkdir -p build
	aarch64-linux-gnu-g++ $(STRICT) -static $(KERNELS) -o build/kernels-aarch64 && qemu-aarch64 build/kernels-aarch64

plain: $(TESTED) ## all tests on the plain kernels, as on machines without vector instructions
	PRIVROUTE_INSTRUCTION_SET=plain $(BIN)/pytest -n $(WORKERS)

# The page is tested in Chromium, ledgers and trips on servers with a PostgreSQL and a Spark, which needs Java, the
# proxy's configuration with nginx, and a clock that is set back with faketime. Under CI=true the tests insist on them.
servers:
	$(call programs,chromium=chromium initdb=postgresql java=openjdk-17-jre-headless nginx=nginx openssl=openssl \
	  faketime=faketime)

# On the tests that drive the core (without the largest network, which would take long), when these or the core have
# changed. Python's own allocations are not ours to check for leaks.
sanitize: $(VENV)/.sanitized ## tests of the core under address and undefined-behaviour sanitizers
SANITIZED_TESTS := tests/policy tests/flows tests/serve/test_answers.py tests/network/test_plain_tables.py
$(VENV)/.sanitized: $(SANITIZED)/.built \
  $(shell find tests/conftest.py tests/reference $(SANITIZED_TESTS) -name '*.py') | $(VENV)/.test
	PRIVROUTE_TEST_CORE=$(SANITIZED) ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/pytest -q -n auto -p no:cacheprovider -k "not Chicago and not chicago and not ctrl_c and not thousands" \
	  $(SANITIZED_TESTS)
	@touch $@

$(SANITIZED)/.built: $(VENV)/.tools $(CORE)
	@echo "Building the core with sanitizers"
	$(PIP) --no-deps --no-build-isolation --upgrade --target build/sanitized . \
	  --config-settings=build-dir=$(VENV)/sanitized --config-settings=cmake.define.PRIVROUTE_SANITIZE=ON
	@touch $@

# So that what it lacks is noticed here.
wheel: $(VENV)/.python ## build a wheel, and run the demo from it in an empty environment
	rm -rf dist build/try-wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv build/try-wheel
	wheel=$$(ls dist/*.whl) && build/try-wheel/bin/python -m pip install --quiet "$$wheel[all]"
	cd build/try-wheel && bin/privroute demo --out demo >/dev/null && \
	  bin/privroute report demo/release --out demo/report.html
	@ls -l dist/*.whl

docs: $(VENV)/.test ## build the documentation
	$(BIN)/mkdocs build --strict

bench: servers $(VENV)/.bench ## all benchmarks, which takes hours
	@$(if $(BENCHMARKS),,echo "there is nothing to run: no scripts in benchmarks/"; exit 1)
	@for script in $(BENCHMARKS); do \
	  echo "== $$script"; $(BIN)/python $$script --json || exit 1; done

clean: ## remove everything that was built
	rm -rf $(VENV) build dist site demo

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "%-12s%s\n", $$1, $$2 }' Makefile

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "privroute needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# What of pyproject.toml decides what is built and installed, written when it changes: not the options of linters.
TABLES := t["build-system"], t["dependency-groups"], t["project"], t["tool"]["scikit-build"]
$(VENV)/.tables: pyproject.toml $(VENV)/.python
	@$(BIN)/python -c 'import tomllib; t = tomllib.load(open("pyproject.toml", "rb")); print($(TABLES))' >$@.new
	@cmp -s $@.new $@ || cp $@.new $@

# What builds the core stays in the environment, so that later builds compile what an edit touches and nothing else.
$(VENV)/.tools: $(VENV)/.tables constraints.txt
	$(PIP) --group build
	@touch $@

# One build for all targets; more packages when a target needs them: a demo does not wait for linters. To compile all
# modules at once would take a minute, for many that nothing imports.
$(VENV)/.run: $(VENV)/.tools
	@echo "Installing privroute into $(VENV) (builds the compiled core, about a minute the first time)"
	$(PIP) --no-build-isolation --config-settings=build-dir=$(VENV)/core --editable '.[all]'
	@touch $@

# tests/run_rules.py compares the time of the installed core with that of its sources.
$(VENV)/.core: $(VENV)/.run $(CORE)
	$(BIN)/cmake --build $(VENV)/core
	@cd $(VENV)/core && installed=$$(../bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))') && \
	  ../bin/cmake --install . --prefix "$$installed" >/dev/null && touch "$$installed"/privroute/_core*
	@touch $@

$(VENV)/.test: EXTRAS := test,lint,docs
$(VENV)/.full: EXTRAS := sumo,spark
$(VENV)/.bench: EXTRAS := bench
$(VENV)/.test: $(VENV)/.run | $(VENV)/.core
$(VENV)/.full $(VENV)/.bench: $(VENV)/.test
$(VENV)/.test $(VENV)/.full $(VENV)/.bench:
	$(PIP) 'privroute[$(EXTRAS)]'
	@touch $@
