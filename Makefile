# `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
JOBS ?= 4
SOAK ?= 10
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Hundreds of processes start in a test run, each of which would compile all modules anew.
test compiled soak unit: export PYTHONDONTWRITEBYTECODE :=

# The first of these that runs and is 3.11 or newer. Choose another with `make venv PYTHON=/path/to/python`.
PYTHONS := python3 python3.13 python3.12 python3.11
IS_RECENT := import sys; sys.exit(not (3, 11) <= sys.version_info[:2])
PYTHON ?= $(shell for p in $(PYTHONS); do $$p -c '$(IS_RECENT)' >/dev/null 2>&1 && { echo $$p; break; }; done)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: .venv/run.stamp ## start everything here: Postgres, Valkey, worker, coordinator, web (options: ARGS="--port 9000")
	@$(BIN)/orchestrator up $(ARGS)

.PHONY: test
test: .venv/dev.stamp ## the checks and all tests (options: ARGS="-k words", JOBS=4)
	@$(MAKE) -j 2 check compiled
	$(BIN)/pytest -q -n $(JOBS) $(ARGS)

# Beside the checks, which keep one core busy: else each process that tests would compile all tests for itself. What is
# wrong with them the tests tell.
.PHONY: compiled
compiled: .venv/dev.stamp ## compile the tests, once for all processes that run them
	@$(BIN)/pytest -q --collect-only >/dev/null || true

.PHONY: soak
soak: .venv/dev.stamp ## all tests with long hunts and fresh random examples, 10 times as many (options: SOAK=10)
	ORCHESTRATOR_TEST_SOAK=$(SOAK) $(BIN)/pytest -q -n $(JOBS) $(ARGS)

.PHONY: chaos
chaos: .venv/dev.stamp ## destroy an installation under load for 8 minutes, and prove that nothing is lost (options: CHAOS_SEED=, CHAOS_SECONDS=)
	CHAOS_SECONDS=$(or $(CHAOS_SECONDS),200) $(BIN)/pytest -q -m chaos tests/chaos $(ARGS)

.PHONY: recovery
recovery: .venv/dev.stamp ## measure how soon all goes on after something broke (options: ARGS="--write --rounds 3")
	$(BIN)/python -m tests.chaos.recovery $(ARGS)

.PHONY: check
check: .venv/dev.stamp ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) audit

.PHONY: audit
audit: .venv/dev.stamp ## ask whether a dependency has a known vulnerability, where a network allows
	@$(BIN)/python -m tests.audit

.PHONY: unit
unit: .venv/dev.stamp ## the tests that need no servers
	$(BIN)/pytest -q tests/unit tests/architecture $(ARGS)

.PHONY: docs
docs: .venv/run.stamp ## write the pages that are made from the code
	@for maker in docs/generate_*.py docs/site/diagrams.py; do $(BIN)/python $$maker; done

.PHONY: site
site: .venv/dev.stamp ## build the documentation as a site, which `orchestrator web` then serves under /docs
	@$(BIN)/python build_backend.py

.PHONY: bench
bench: .venv/run.stamp ## measure the engine on this machine (options: ARGS="--rounds 1 --workloads W1,W4")
	@$(BIN)/orchestrator bench $(ARGS)

.PHONY: venv
venv: .venv/dev.stamp ## make .venv with the package and the developers' tools

.PHONY: clean
clean: ## remove .venv and caches; the data in .orchestrator stays
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/run.stamp: pyproject.toml | .venv/bin/pip
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/dev.stamp: pyproject.toml | .venv/bin/pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ .venv/run.stamp

.venv/bin/pip:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c '$(IS_RECENT)' || { echo "$(PYTHON) is not Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "$(PYTHON) cannot make a virtual environment: it lacks venv or ensurepip (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
