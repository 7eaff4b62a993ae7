# make demo   a judged, debiased decision on example data, with a real model in the process
# make test   the tests        make lint   style and types      make docs   what the docs show
# make bench  measurements     make torture  the long suites    make lock   renew the lock files
# make simulate   what the statistics promise, tried on data whose truth is known; writes a page
# make meta-evaluate LLMBAR=Dataset/LLMBar    the embedded judge against people; hours, resumable
#
# Needs Python 3.11 or newer and make; everything else goes into $(VENV).

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT ?= out
JOBS ?= auto

.PHONY: demo test lint bench torture simulate meta-evaluate docs lock clean

demo: $(VENV)/demo.stamp
	@mkdir -p $(OUT)
	@$(BIN)/twopan models pull
	@status=0; \
	$(BIN)/twopan gate examples/candidate.jsonl examples/baseline.jsonl \
	    --ledger $(OUT)/ledger.sqlite --report $(OUT)/demo.html || status=$$?; \
	case $$status in 0|1|4) echo "Open $(CURDIR)/$(OUT)/demo.html in a browser.";; *) exit $$status;; esac

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/test.stamp
	$(BIN)/python benchmarks/start.py

torture: $(VENV)/test.stamp
	TWOPAN_FUZZ=100000 $(BIN)/python -m pytest -n $(JOBS) tests/test_parsing.py tests/test_rows.py tests/test_cli.py

simulate: $(VENV)/test.stamp
	$(BIN)/python benchmarks/simulate.py

meta-evaluate: $(VENV)/demo.stamp
	@test -n "$(LLMBAR)" || { echo "say where LLMBar is: make meta-evaluate LLMBAR=path/to/Dataset/LLMBar"; exit 1; }
	$(BIN)/twopan models pull
	$(BIN)/twopan models pull qwen2.5-coder-0.5b
	$(BIN)/python benchmarks/embedded_judge.py "$(LLMBAR)" --ledger $(OUT)/embedded-judge.sqlite

docs: $(VENV)/test.stamp
	$(BIN)/python docs/make_cli.py

lock:
	uv pip compile pyproject.toml --extra local --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-header --quiet -o requirements.lock
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-header --quiet -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf $(VENV) $(OUT) build dist

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "twopan needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/demo.stamp: $(VENV)/python.stamp requirements.lock pyproject.toml
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/test.stamp: $(VENV)/demo.stamp requirements-dev.lock
	$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@
