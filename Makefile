# Front door: every verb here is what people and CI type. The build itself is meson's, see meson.build.
#
# PYTHON picks the interpreter. `make build` fills .venv; `make build PYTHON=python3.12` fills .venv-3.12 and leaves
# .venv alone. The package is installed as a wheel, never editable: an editable install starts ninja in every rank.

PYTHON ?= python3
ARGS ?=
SECONDS ?= 60
EVENTS ?= 3

ifneq ($(filter command environment,$(firstword $(origin PYTHON))),)
override PYTHON := $(or $(shell tools/find-python.sh '$(PYTHON)'),$(PYTHON))
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
$(if $(VERSION),,$(error PYTHON=$(PYTHON) does not run (name an interpreter, or the path of one)))
VENV := .venv-$(VERSION)
else
VENV := .venv
endif

BUILD := $(VENV:.%=build/%)
SANITIZE := $(VENV:.venv%=build/sanitize%)
SANITIZE_THREADS := $(VENV:.venv%=build/sanitize-threads%)
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
# End to end: tests wait for launchers and clocks most of the time. (pytest's 5: none were chosen.)
TESTS_AT_ONCE ?= $$(($$(nproc) + 1))
# meson-python looks for meson and ninja on PATH; a venv that is not activated is not there.
IN_VENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
SYSTEM := PYTHON="$(PYTHON)" tools/system-packages.sh

INSTALLED := $(VENV)/.installed
SOURCES := $(wildcard meson.build meson.options pyproject.toml tools/*.py) \
           $(shell find src python -type f ! -name '*.pyc' ! -name '.*')
C_FILES = $(shell find src tests/unit tests/fuzz tests/wasm bench -name '*.[ch]')
PY_DIRS = $(wildcard python tools tests bench)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup build demo test test-all test-next test-aarch64 test-unit test-threads test-causes test-e2e bench-next check-mpi4py check-cpython lint lint-c lint-tidy lint-python \
        bench fuzz model clean system-demo system-test system-bench system-lint system-fuzz system-model system-aarch64

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3.12   another interpreter, in a venv of its own: .venv-3.12"
	@echo "  ARGS='-k fork -x'   further options for pytest, or for bench/run.py"

setup: ## install the system packages that build, demo and test need (Debian, Ubuntu)
	@$(SYSTEM) build demo test model

build: $(INSTALLED) ## compile and install into .venv

demo: system-demo $(INSTALLED) $(VENV)/.pip-demo ## profile a small MPI program on 4 ranks and show the report
	@tools/demo.sh $(VENV)

test: test-unit model test-causes test-e2e ## C unit tests under ASan and UBSan, the model, wait causes, then the end-to-end tests

test-all: export ALLRANKS_TEST_ALL = 1
test-all: test test-aarch64 ## the same, with every stack and every slow case, and on aarch64

test-next: ## the tests on the Pythons and MPIs of Debian's next release, in a chroot (needs root or sudo)
	@tools/next.sh test $(ARGS)

test-aarch64: system-aarch64 $(VENV)/.pip-build $(VENV)/.pip-test ## build for aarch64 and test that under emulation
	@$(IN_VENV) TESTS_AT_ONCE=$(TESTS_AT_ONCE) tools/aarch64.sh test $(ARGS)

lint: lint-c lint-tidy lint-python ## formatting, include law, WebAssembly, cppcheck, clang-tidy, ruff, mypy

check-mpi4py: system-test $(INSTALLED) ## mpi4py's own tests with and without allranks: the same outcome, test by test (long)
	@$(VENV)/bin/python tools/stacks.py
	@$(VENV)/bin/python tools/check_mpi4py.py $(ARGS)

check-cpython: system-test $(INSTALLED) ## a part of CPython's own tests with and without allranks: the same outcome, test by test (long)
	@$(VENV)/bin/python tools/stacks.py --only plain debian
	@$(VENV)/bin/python tools/check_cpython.py $(ARGS)

bench: system-bench $(INSTALLED) ## measure every figure the README states
	@$(VENV)/bin/python bench/run.py $(ARGS)

bench-next: ## what a call costs on the Pythons of Debian's next release
	@tools/next.sh bench $(ARGS)

fuzz: system-fuzz $(INSTALLED) ## try to break every reader of files, a minute each (SECONDS=600: longer)
	@$(VENV)/bin/python tests/fuzz/run.py --seconds $(SECONDS) $(ARGS)

model: system-model ## check the order of stores in the live file, all of it (EVENTS=4: further, in a minute and 1 GB)
	@tests/model/run.sh $(EVENTS)

clean: ## remove all that make has made
	@if [ -d build/next ]; then tools/next.sh remove; fi
	@rm -rf build .venv .venv-* .stacks .pytest_cache .mypy_cache .ruff_cache

# ---- what the verbs are made of ----

test-unit: system-test test-threads $(SANITIZE)/build.ninja
	@echo "test: unit tests under ASan and UBSan"
	@$(IN_VENV) meson test -C $(SANITIZE) --print-errorlogs

# Only what has threads: the sanitizer is for races, and slow.
test-threads: system-test $(SANITIZE_THREADS)/build.ninja
	@echo "test: threads under TSan"
	@$(IN_VENV) meson test -C $(SANITIZE_THREADS) --print-errorlogs call_order threads livemap spawning

test-causes: system-test $(SANITIZE)/build.ninja $(VENV)/.pip-test
	@echo "test: causes of waits in simulated programs"
	@$(IN_VENV) meson compile -C $(SANITIZE) waits_of >$(SANITIZE).log || { cat $(SANITIZE).log; exit 1; }
	@ALLRANKS_WAITS_OF=$(SANITIZE)/tests/unit/waits_of $(VENV)/bin/python -m pytest -q tests/causes $(ARGS) || [ $$? -eq 5 ]

test-e2e: system-test $(INSTALLED) $(VENV)/.pip-test
	@$(VENV)/bin/python tools/stacks.py
	@echo "test: end to end"
	@$(VENV)/bin/python -m pytest -q -n $(TESTS_AT_ONCE) -m "not alone" tests/e2e $(ARGS) || [ $$? -eq 5 ]
	@echo "test: end to end, one after the other"
	@$(VENV)/bin/python -m pytest -q -m alone tests/e2e $(ARGS) || [ $$? -eq 5 ]

lint-c: system-lint $(VENV)/pyvenv.cfg
	@echo "lint: clang-format"
	@clang-format --dry-run -Werror $(C_FILES)
	@echo "lint: include law"
	@$(VENV)/bin/python tools/check_includes.py
	@echo "lint: cppcheck"
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
	    --suppress=missingInclude --error-exitcode=1 -I src src

lint-tidy: system-lint $(INSTALLED)
	@echo "lint: symbols against arrows"
	@$(VENV)/bin/python tools/check_symbols.py $(BUILD)
	@echo "lint: WebAssembly"
	@$(VENV)/bin/python tools/check_wasm.py $(BUILD)
	@echo "lint: clang-tidy"
	@find src -name "*.c" | xargs -n 1 -P $$(nproc) clang-tidy --quiet -p $(BUILD) 2>$(BUILD)/tidy.log \
	    || { grep -v "warnings\? generated" $(BUILD)/tidy.log; exit 1; }

lint-python: $(VENV)/.pip-lint
	@echo "lint: ruff"
	@$(VENV)/bin/ruff check --quiet --output-format=concise $(PY_DIRS)
	@echo "lint: mypy"
	@$(VENV)/bin/mypy --strict --no-error-summary python

system-demo: ; @$(SYSTEM) build demo
system-test: ; @$(SYSTEM) build demo test
system-bench: ; @$(SYSTEM) build bench
system-lint: ; @$(SYSTEM) build lint
system-fuzz: ; @$(SYSTEM) build fuzz
system-model: ; @$(SYSTEM) build model
system-aarch64: ; @$(SYSTEM) build aarch64

# The system is asked here and not by a prerequisite of `build`, so that a second `make build` runs nothing.
$(VENV)/pyvenv.cfg:
	@$(SYSTEM) build
	@echo "build: $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.pip-%: tools/requirements-%.txt tools/constraints.txt tools/requirements-numpy.txt tools/requirements-traces.txt $(VENV)/pyvenv.cfg
	@echo "build: $(VENV), packages for $*"
	@$(PIP) install -q -r $<
	@touch $@

$(INSTALLED): $(SOURCES) $(VENV)/.pip-build
	@echo "build: allranks into $(VENV)"
	@$(IN_VENV) $(PIP) install -q --no-build-isolation --no-deps \
	    --config-settings=build-dir=$(BUILD) .
	@touch $@

$(SANITIZE)/build.ninja: SANITIZERS := address,undefined
$(SANITIZE_THREADS)/build.ninja: SANITIZERS := thread
$(SANITIZE)/build.ninja $(SANITIZE_THREADS)/build.ninja: $(VENV)/.pip-build
	@echo "test: configure $(@D)"
	@mkdir -p build
	@$(IN_VENV) meson setup $(@D) -Db_sanitize=$(SANITIZERS) -Dtests=true >$(@D).log 2>&1 \
	    || { cat $(@D).log; exit 1; }
	@touch $@
