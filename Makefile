# A fresh machine needs Python 3.11 or newer and make, nothing else.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON3 ?= python3
PYTHON  := .venv/bin/python
PYTEST  := $(PYTHON) -m pytest
# Each worker starts engines of its own. PARALLEL= runs the tests one after the other.
PARALLEL := --numprocesses logical --maxprocesses 4 --dist worksteal
READY   := .venv/.ready
RUNNING := .venv/.running
UV      := .engines/uv/bin/uv
LOWEST  := .venv-lowest/bin/python
LOCKED   = --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
INSTALL  = $(PYTHON) -m pip install --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-slow test-lowest lint format docs docs-api docs-trust wheel bundle image bench bench-conversations \
        bench-dax bench-mechanisms bench-plugins bench-recall bench-sizes conformance faults sbom engines lock clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 28

run: $(RUNNING) ## Start the server on this machine; it prints how to attach a client
	@.venv/bin/mcp-memory-server serve --http

test: lint engines ## Lint, then every test except the slow ones
	$(PYTEST) -m "not slow" $(PARALLEL)

test-slow: engines ## The long runs: kills, power loss, soak
	$(PYTEST) -m slow

test-lowest: engines $(UV) ## The tests against the lowest version of each dependency that pyproject.toml allows
	$(UV) venv --quiet --clear --python $(PYTHON) .venv-lowest
	$(UV) pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[all]' --group test
	$(LOWEST) -m pytest -m "not slow" $(PARALLEL)

docs-trust: $(READY) ## Write docs/trust.md anew from what the last runs measured
	$(PYTHON) -m tests.project.trust_page

lint: $(READY) ## Style, formatting, types, import directions
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m pyright
	.venv/bin/lint-imports

format: $(READY) ## Let ruff tidy up
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

docs-api: $(READY) ## Write docs/api.md anew from signatures and docstrings
	$(PYTHON) -m tests.project.api_reference

docs: $(READY) ## Build the documentation site into site/, checking its links, then check commands, tables and records
	$(PYTHON) -m mkdocs build --quiet --site-dir site
	$(PYTEST) tests/project/test_architecture.py tests/project/test_decisions.py tests/project/test_operations.py \
		tests/project/test_documents.py tests/project/test_plugin_pages.py tests/project/test_recall_page.py \
		tests/project/test_public_names.py tests/project/test_api_reference.py tests/project/test_site.py

wheel: $(READY) ## Build the wheel and the source archive into dist/
	rm -rf dist
	$(PYTHON) -m hatchling build --directory dist

bench: engines ## Measure against the budgets
	$(PYTHON) tests/bench/run.py

bench-conversations: engines ## Measure conversations on Redis and DynamoDB Local
	$(PYTHON) tests/bench/conversations.py

bench-plugins: engines ## Measure breakers, the shared agent state, and what a turn of an agent costs
	$(PYTHON) -m tests.bench.plugins
	$(PYTHON) -m tests.bench.agents
	$(PYTHON) -m tests.bench.requests_per_turn
	$(PYTHON) -m tests.bench.injection

bench-dax: engines ## Measure a day of 1,000 users behind DAX, on the cluster of the tests
	$(PYTHON) -m tests.bench.dax

bench-mechanisms: $(READY) ## Measure what single mechanisms save: own streams, token loading, reads on the event loop
	$(PYTHON) -m tests.bench.mechanisms

bench-recall: $(READY) ## Measure what recall finds, in the data beside the repository, and rewrite docs/recall.md
	$(PYTHON) -m tests.bench.recall.run --compare bm25 dense rrf sum --nonsense --categories --tool --sizes 5 50 500 5000 --write
	$(PYTHON) -m tests.bench.recall.life --write

bench-sizes: $(READY) ## Measure recall with 10,000 and 100,000 memories, over stdio and in process
	$(PYTHON) -m tests.bench.recall.sizes --write

faults: engines ## Run the whole fault matrix, two hours at most; SHORT=--short takes a minute or two
	$(PYTHON) -m tests.faults.matrix $(SHORT) --json docs/trust/faults.json
	$(PYTHON) -m tests.project.trust_page

sbom: $(READY) ## Write the bill of materials (CycloneDX 1.6) into dist/
	@mkdir -p dist
	$(PYTHON) -m tests.project.sbom dist/sbom.json

conformance: engines ## Run the official MCP conformance suite: own tools against a baseline, and fixtures
	$(PYTHON) -m tests.conformance.run --json docs/trust/conformance.json
	$(PYTHON) -m tests.project.trust_page

bundle: wheel engines ## Build the bundle for Claude Desktop into dist/
	$(PYTHON) integrations/claude-desktop/pack.py dist .engines/plugin-tools

image: ## Build the container image
	docker build --tag mcp-agent-memory .

engines: $(READY) ## Install the engines that tests run against into .engines
	@# A missing engine skips its tests, or fails them where CI is set.
	-@$(PYTHON) tests/engines/install.py .engines

$(UV):
	$(PYTHON3) -m venv .engines/uv
	.engines/uv/bin/pip install --quiet uv==0.13.8

lock: $(UV) ## Rewrite the lock files (make lock UPGRADE=--upgrade takes newer releases)
	$(UV) pip compile pyproject.toml --all-extras --group test $(LOCKED) --output-file requirements.lock
	$(UV) pip compile pyproject.toml --group build --constraint requirements.lock $(LOCKED) --output-file requirements-run.lock

clean: ## Remove everything that make created
	rm -rf .venv .venv-lowest .engines dist site .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, %s is %s; try make PYTHON3=python3.12" % (sys.executable, sys.version.split()[0]))'
	@echo "Creating a virtual environment in .venv" >&2
	@$(PYTHON3) -m venv .venv

$(RUNNING): requirements-run.lock pyproject.toml | .venv/bin/python
	@echo "Installing what the server needs (once, about 60 MB to download)" >&2
	@$(INSTALL) --require-hashes --requirement requirements-run.lock | sed -un 's/^Collecting \([^ ]*\).*/  \1/p' >&2
	@$(INSTALL) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): requirements.lock pyproject.toml | .venv/bin/python
	@echo "Installing what the tests need (once, about 400 MB to download)" >&2
	@$(INSTALL) --require-hashes --requirement requirements.lock | sed -un 's/^Collecting \([^ ]*\).*/  \1/p' >&2
	@$(INSTALL) --quiet --no-deps --no-build-isolation --editable .
	@touch $@ $(RUNNING)
