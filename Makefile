# `make` prints this list.
.DEFAULT_GOAL := help
PY := .venv/bin/python
MANAGE := $(PY) manage.py
PORT ?= 8000

.PHONY: help setup setup-test run check test acceptance bench bench-recall
.PHONY: bench-receipts bench-scale test-oceanbase openapi
.PHONY: test-oceanbase api-generate contract-test docs-test messages screenshots

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

test: setup-test ## Run every test on SQLite
	.venv/bin/python -X dev -m pytest -n auto --dist loadgroup

test-oceanbase: setup-test ## Run the database tests and the fault tests on an OceanBase engine
	.venv/bin/python -X dev -m pytest -m oceanbase
	.venv/bin/python -X dev -m tests.engine \
		.venv/bin/python -X dev -m pytest -n auto --database-tests-on=oceanbase

acceptance: setup-test ## Run the tests and write docs/acceptance.md: clause, tests, state
	.venv/bin/python -m pytest -n auto --dist loadgroup --acceptance=docs/acceptance.md

screenshots: ## Take the pictures in docs/images of the Inspector on the demo
	@tools/setup.sh screenshots
	$(PY) -m tools.screenshots docs/images

bench-recall: setup-test ## Recall on the labelled sets in POWERCONTEXT_RECALL_DATA
	.venv/bin/python bench/recall.py

bench-receipts: setup-test ## Size of receipts, and what the flag costs per request
	.venv/bin/python bench/receipts.py

bench-scale: setup-test ## Load and prepare at size, on whatever DATABASE_URL says
	.venv/bin/python bench/scale.py

bench: bench-receipts bench-recall ## Every benchmark

openapi: setup-test ## Regenerate the files under openapi/
	$(MANAGE) spectacular --validate --fail-on-warn --file openapi/powercontext.yaml
	$(PY) tools/receipt_schema.py openapi/powercontext.yaml openapi/receipt.schema.json

messages: setup-test ## Gather the Inspector's texts into its Chinese catalogue
	$(PY) tools/messages.py

api-generate: openapi ## RFC name of `openapi`

contract-test: setup-test ## RFC name: the tests of the wire contract
	.venv/bin/python -X dev -m pytest tests/contract

docs-test: setup-test ## RFC name: the tests of the documentation
	.venv/bin/python -X dev -m pytest tests/test_docs.py
