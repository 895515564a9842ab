# Agon. `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input --no-deps

.DEFAULT_GOAL := help
.PHONY: help run test check fast e2e bench chaos lock page clean format lint types imports browser web-check

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: export AGON_DATA_DIR ?= $(CURDIR)/.data
run: $(VENV)/.run page ## set up whatever is missing and run the arena (AGON_PORT, AGON_DATA_DIR)
	@exec $(BIN)/agon up

test: lint types imports web-check browser ## everything CI runs
	@$(BIN)/python -m pytest -q

check: lint types imports fast ## lint, types, imports and the fast tests

fast: $(VENV)/.dev ## the fast tests
	@$(BIN)/python -m pytest -q -m "not slow and not e2e and not crash and not models"

e2e: $(VENV)/.dev page browser ## drive the whole arena from outside, in a browser too
	@$(BIN)/python -m pytest -q -m e2e

bench: $(VENV)/.dev ## run one benchmark: make bench NAME=...
	@test -n "$(NAME)" || { echo "Say which: make bench NAME=…, one of:"; ls benchmarks/*.py 2>/dev/null | xargs -r -n1 basename -s .py; exit 2; }
	@$(BIN)/python -m benchmarks.$(NAME)

chaos: $(VENV)/.dev ## kill processes while a crowd battles, so many times: make chaos REPEATS=50
	@$(BIN)/python -m tests.chaos --repeats $(or $(REPEATS),50)

format: $(VENV)/.dev ## rewrite the code in the house format
	@$(BIN)/ruff format -q . && $(BIN)/ruff check -q --fix .

lint: $(VENV)/.dev
	@$(BIN)/ruff format --check -q . || { echo "Some files are not in the house format: make format"; exit 1; }
	@$(BIN)/ruff check -q .

types: $(VENV)/.dev
	@$(BIN)/basedpyright

imports: $(VENV)/.dev
	@$(BIN)/lint-imports --no-logo

page: $(VENV)/.run ## build the page, if its sources changed
	@$(BIN)/python hatch_build.py

web-check: $(VENV)/.dev page
	@$(BIN)/python hatch_build.py check test

# Browser tests drive Debian's Chromium, which is here or comes from the system's own packages.
browser:
	@command -v chromium >/dev/null || { \
		as_root=; test "$$(id -u)" = 0 || as_root="sudo -n"; \
		echo "Installing Chromium …"; \
		{ $$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
		|| { echo "The browser tests need the command chromium, and it could not be installed. On Debian, as root: apt-get install chromium"; exit 1; }; }

lock: $(VENV)/.dev ## resolve the dependencies anew into requirements/
	@$(BIN)/uv pip compile pyproject.toml --extra pictures --group build $(LOCK) -o requirements/run.txt
	@$(BIN)/uv pip compile pyproject.toml --extra pictures --group build --group dev -c requirements/run.txt $(LOCK) -o requirements/dev.txt

LOCK = --universal --python-version 3.11 --upgrade --generate-hashes --no-annotate --no-emit-index-url -q \
	--custom-compile-command "make lock"

clean: ## remove everything built here; data in .data stays
	@rm -rf $(VENV) web/node_modules src/agon/page dist build test-results .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: an environment is made anew only when its lock file or the package's metadata changed.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Agon needs Python 3.11 or newer, and '$(PYTHON)' is not one. Install it, or name one: make PYTHON=/path/to/python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "This Python cannot make environments. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing what Agon needs (a minute or so, once) …"
	@test -e $(VENV)/.dev || $(PIP) --require-hashes --only-binary :all: -r requirements/run.txt
	@test ! -e $(VENV)/.dev || $(PIP) --require-hashes --only-binary :all: -r requirements/dev.txt
	@$(PIP) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing Agon and its development tools (a minute or two, once) …"
	@$(PIP) --require-hashes --only-binary :all: -r requirements/dev.txt
	@$(PIP) --no-build-isolation -e .
	@touch $@ $(VENV)/.run
