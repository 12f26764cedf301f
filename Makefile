# Everything a newcomer or the build server needs; `make` alone lists it.
# Needs python3 (3.11 or newer, with venv) and make. All else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SOURCES := src tests tools
COMPILED := build/compiled

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# The tests start hundreds of processes, each of which would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=
.PHONY: help setup shell ldap etcd study kube ui ui-test browser docs notebooks run test test-compiled test-kubernetes check fix rules long bench compile wheel reproducible proto schema openapi python-api man packages diagrams lock simtest fuzz mutants takeovers chaos clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## install the locked libraries and remuda into .venv (once)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "remuda needs Python 3.11 or newer, and '$(PYTHON)' is not: run make with PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv module: install it (Debian and Ubuntu: python3-venv) or name another PYTHON"; exit 1; }
	@echo "setup: installing the locked libraries into $(VENV) (once, a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "setup: $(BIN)/remuda is ready"

shell: setup ## a shell where remuda and python are those of .venv
	@echo "shell: remuda is on the PATH here; exit ends it"
	@PATH="$(abspath $(BIN)):$$PATH" VIRTUAL_ENV="$(abspath $(VENV))" $${SHELL:-sh}

ldap: setup ## what LDAP groups and their tests need (as root on Debian: with its packages)
	@$(BIN)/python -m tools.ldap_setup

etcd: setup ## what the lease of two schedulers and its tests need: a library and a server
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-etcd.lock
	@echo "etcd: the tests of the lease run now"

study: setup ## what studies on a Dask cluster, Parquet files and their tests need: two libraries
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-study.lock
	@echo "study: the tests of studies on a cluster and of Parquet files run now"

kube: setup ## build a real API server and kube-scheduler to test against (once, 5 to 15 minutes on Debian; cached)
	@$(BIN)/python -m tools.kube

ui: setup ## build the web interface from ui/ (needs node and npm)
	@$(BIN)/python -m tools.interface

ui-test: setup ## the unit tests of the web interface's sources (needs node and npm)
	@$(BIN)/python -m tools.interface --test

browser: setup ## what the tests of the web interface need: a browser and a library that drives it
	@$(BIN)/python -m tools.browser_setup

notebooks: setup ## run the notebooks of the documentation and write their outputs
	@$(BIN)/python -m tools.notebooks

docs: setup ## build the documentation as a site, with search and all links checked
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@$(BIN)/python -m tools.site

run: setup ## start a scheduler with a cluster to schedule, and watch it work
	@$(BIN)/remuda serve --demo

# Many tests wait for other processes, so twice as many run at a time as there are processors. Files keep
# their order, by which the long runs of tests/simulation do not come last, when others have ended. The
# tests that measure time run first and alone: one process then compiles the modules for all.
IN_PARALLEL = -n $$((2 * $$($(BIN)/python -c 'import os; print(os.cpu_count())'))) --dist loadfile --no-loadscope-reorder

test: setup ## run the tests (a quarter of an hour)
	@$(BIN)/python -m tools.second_try -m "timed and not long and not kubernetes"
	@$(BIN)/python -m tools.second_try -m "not long and not timed and not kubernetes" $(IN_PARALLEL)

# What uses the compiled modules (core, codecs) most: their own tests, the long random runs, of which an
# interpreted core plays a sixth, and whole processes. All others are tests of the same Python code in both builds.
OF_THE_CORE := compiled museum property simulation unit/base unit/core unit/library unit/runtime unit/si unit/sim \
  $(patsubst %,e2e/test_%.py,chaos conformance grpc_allocations grpc_attacks insight_commands journal neutrality recording \
  recovery recovery_by_key reload replay_command scarce_memory serve session session_preemption shadow_command \
  snapshot_command)

test-compiled: compile ## compile the core and run the tests that use it
	@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/python -m tools.second_try --build compiled -m "timed and not long and not kubernetes"
	@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/python -m tools.second_try --build compiled $(OF_THE_CORE:%=tests/%) -m "not long and not timed and not kubernetes" $(IN_PARALLEL)

# SERVERS=kubernetes leaves out the fake server, on which `make test` runs the same tests.
SERVERS ?= kubernetes or not kubernetes

test-kubernetes: setup ## the tests on an API server, on the real one too if `make kube` built it
	@$(BIN)/python -m tools.second_try tests/kubernetes/end_to_end -m "($(SERVERS)) and not long and not timed" $(IN_PARALLEL)

check: setup ## lint, types, import contracts, house rules, licences, generated code
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy $(SOURCES)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tools.tidy
	@$(BIN)/python -m tools.rules --check
	@$(BIN)/python -m tools.supply.licences
	@$(BIN)/python tools/gen_si.py --check
	@$(BIN)/python tools/gen_schema.py --check
	@$(BIN)/python -m tools.gen_openapi --check
	@$(BIN)/python -m tools.gen_diagrams --check
	@$(BIN)/python -m tools.gen_python_api --check
	@$(BIN)/python -m tools.gen_man --check
	@$(BIN)/python -m tools.interface --check
	@$(BIN)/python -m tools.packages --check

fix: setup ## repair what a program can repair
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/python -m tools.tidy --shrink

rules: setup ## per chapter of docs/spec: how many rules have a passing test
	@$(BIN)/python -m tools.rules

long: setup ## the large random runs, of which `make test` holds a slice; other seeds each day
	@REMUDA_ROTATION=$${REMUDA_ROTATION:-$$(( $$(date +%s) / 86400 ))} \
	  $(BIN)/python -m pytest -m long -n auto --dist worksteal -o faulthandler_timeout=0

bench: setup ## measure allocations per second on the shapes of docs/benchmarks.md
	@$(BIN)/remuda bench

compile: setup ## the package with a compiled core, in build/compiled (needs a C compiler)
	@$(BIN)/python -m tools.wheels --unpack $(COMPILED)
	@echo "compile: to run it, set PYTHONPATH=$(COMPILED)"

wheel: setup ## both wheels with their bills of materials, and the source archive, into dist
	@$(BIN)/python -m tools.wheels dist

reproducible: setup ## build wheels and source archive twice, in different places, and compare
	@$(BIN)/python -m tools.wheels.reproducible

proto: setup ## generate src/remuda/si/pb from proto/
	@$(BIN)/python tools/gen_si.py

schema: setup ## generate the JSON Schema of the queue file and the tables of its manual
	@$(BIN)/python tools/gen_schema.py

openapi: setup ## generate the OpenAPI document that is served from docs/spec/openapi.yaml
	@$(BIN)/python -m tools.gen_openapi

python-api: setup ## write the list of the Python API's names into its page
	@$(BIN)/python -m tools.gen_python_api

man: setup ## write the manual pages in man/ from the command line
	@$(BIN)/python -m tools.gen_man

packages: setup ## write the manifests and the Helm chart of deploy/ from the code
	@$(BIN)/python -m tools.packages

diagrams: setup ## draw the states of docs/explanation/lifecycles.md from the code's tables
	@$(BIN)/python -m tools.gen_diagrams

lock: setup ## choose library versions anew and write the locks
	@$(BIN)/python tools/lock.py

BUDGET ?= 10m

simtest: setup ## the simulation with faults, for BUDGET (10m), on from where it was
	@$(BIN)/python -m tools.simtest --budget $(BUDGET)

TARGET ?= all

fuzz: setup ## fuzz the readers of all that comes from outside, for BUDGET; TARGET=wire,rest
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-fuzz.lock
	@$(BIN)/python -m tools.fuzz --budget $(BUDGET) --target $(TARGET)

PACKAGE ?= core/accounting
SAMPLE ?= 100

mutants: setup ## put SAMPLE small faults into PACKAGE, and say which ones no test notices
	@$(BIN)/python -m tools.mutants '$(PACKAGE)' --sample $(SAMPLE)

COUNT ?= 200

takeovers: etcd ## kill the active one of two schedulers under load, COUNT times (200, about 20 minutes)
	@$(BIN)/python -m tools.takeovers --count $(COUNT)

SEED ?= 1

chaos: setup ## break a running scheduler and its surroundings, for BUDGET (10m) from SEED (1) on
	@$(BIN)/python -m tools.chaos --budget $(BUDGET) --seed $(SEED)

clean: ## remove everything that was installed or generated
	@rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
