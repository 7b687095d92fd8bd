# `make` prints this list.
.DEFAULT_GOAL := help
PY := .venv/bin/python
MANAGE := $(PY) manage.py
PYTEST := $(PY) -X dev -m pytest
PORT ?= 8000

# The database tests, then those that kill the engine. Without an engine that says so;
# with POWERCONTEXT_REQUIRE_OCEANBASE=1 it fails.
define on_oceanbase
$(PY) -X dev -m tests.engines oceanbase $(PYTEST) -n auto --database-tests-on=oceanbase
$(PYTEST) -rs -m oceanbase
endef

.PHONY: help setup setup-test run check test test-sqlite test-oceanbase test-mariadb
.PHONY: acceptance bench bench-recall bench-receipts bench-scale bench-oceanbase
.PHONY: openapi api-generate contract-test docs-test messages screenshots

help: ## Print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

setup: ## Make .venv with everything needed to run
	@tools/setup.sh run

setup-test:
	@tools/setup.sh test

run: setup ## Migrate SQLite, load the demo, serve on 127.0.0.1:8000 (PORT=...), show a prepared context
	@tools/run.sh $(PORT)

check: setup-test ## Format, lint, types, import rules, migrations, OpenAPI drift
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy powercontext prepare inspector tests bench
	.venv/bin/lint-imports --no-cache
	$(PY) tools/messages.py --check
	$(MANAGE) check --fail-level WARNING
	$(MANAGE) makemigrations --check --dry-run
	$(MANAGE) spectacular --validate --fail-on-warn --file .venv/openapi.yaml
	diff -u openapi/powercontext.yaml .venv/openapi.yaml
	$(PY) tools/receipt_schema.py .venv/openapi.yaml .venv/receipt.schema.json
	diff -u openapi/receipt.schema.json .venv/receipt.schema.json

test: test-sqlite ## Run every test on SQLite, then the database tests on OceanBase
	$(on_oceanbase)

test-sqlite: setup-test ## Run every test on SQLite only
	env -u DATABASE_URL $(PYTEST) -n auto --dist loadgroup

test-oceanbase: export POWERCONTEXT_REQUIRE_OCEANBASE = 1
test-oceanbase: setup-test ## Run the database tests and the fault tests on OceanBase
	$(on_oceanbase)

test-mariadb: setup-test ## Run the database tests on MariaDB (not part of `make test`)
	@tools/setup.sh mariadb
	$(PY) -X dev -m tests.engines mariadb $(PYTEST) -n auto --database-tests-on=mariadb

acceptance: test-oceanbase ## Run the tests and write docs/acceptance.md: clause, tests, state
	$(PY) -m pytest -n auto --dist loadgroup --acceptance=docs/acceptance.md

screenshots: ## Take the pictures in docs/images: the Inspector on the demo
	@tools/setup.sh screenshots
	$(PY) -m tools.screenshots docs/images

bench-recall: setup-test ## Recall on the sets in POWERCONTEXT_RECALL_DATA; DATABASE_URL's server must answer alike
	$(PY) bench/recall.py

bench-receipts: setup-test ## Size of receipts, and what the flag costs per request
	$(PY) bench/receipts.py

DOCUMENTS ?= 10000
SCOPES ?= 1

bench-scale: setup-test ## Load and prepare at size, SQLite beside DATABASE_URL's server (DOCUMENTS=, SCOPES=)
	$(PY) bench/scale.py --documents $(DOCUMENTS) --scopes $(SCOPES)

bench-oceanbase: setup-test ## bench-recall and bench-scale with an OceanBase engine that is started for them
	$(PY) -m tests.engines oceanbase $(MAKE) bench-recall bench-scale

bench: bench-receipts bench-recall ## Every benchmark

openapi: setup-test ## Regenerate the files under openapi/
	$(MANAGE) spectacular --validate --fail-on-warn --file openapi/powercontext.yaml
	$(PY) tools/receipt_schema.py openapi/powercontext.yaml openapi/receipt.schema.json

messages: setup-test ## Gather the Inspector's texts into its Chinese catalogue
	$(PY) tools/messages.py

api-generate: openapi ## RFC name of `openapi`

contract-test: setup-test ## RFC name: the tests of the wire contract
	$(PYTEST) tests/contract

docs-test: setup-test ## RFC name: the tests of the documentation
	$(PYTEST) tests/test_docs.py
