# Everything a developer or a user runs. `make run` and `make test` need only Python 3.11 to 3.13 and make.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run sam-local test test-sam-local check format fuzz openapi lock layers build validate bootstrap clean

# The first interpreter that runs and is new enough (a version manager's shim may be on PATH and answer for none).
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo $$p && break; done)
VENV := .venv/bin
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check --require-hashes
# What `make run` needs comes by pip, the tools by uv, in a tenth of the time. It reads no settings of pip's but what it is told.
INDEX = $${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(VENV)/python -m pip config get global.index-url 2>/dev/null)}}
UV_INSTALL = UV_DEFAULT_INDEX="$(INDEX)" $(VENV)/uv pip install --quiet --require-hashes --no-deps

# --- environments, from the locks ---------------------------------------------------------------------------------------

.venv/run: locks/run.txt
	@[ -n "$(PYTHON)" ] || { echo "Tokencount needs Python 3.11, 3.12 or 3.13 on PATH (or PYTHON=/path/to/one)" >&2; exit 1; }
	@echo "installing the pinned packages into .venv"
	@$(PYTHON) -m venv .venv
	@$(VENV)/python $(PIP_INSTALL) -r locks/run.txt || { rm -rf .venv; \
		echo "could not install the packages of locks/run.txt: is a package registry reachable, and the disk not full?" >&2; exit 1; }
	@$(VENV)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "tokencount.pth").write_text(str(pathlib.Path("functions").resolve()))'
	@touch $@

.venv/uv: .venv/run locks/uv.txt
	@$(VENV)/python $(PIP_INSTALL) -r locks/uv.txt
	@touch $@

.venv/dev: .venv/uv locks/dev.txt
	@echo "installing the test and check tools into .venv"
	@$(UV_INSTALL) --python $(VENV)/python -r locks/dev.txt || { \
		echo "could not install the packages of locks/dev.txt: is a package registry reachable, and the disk not full?" >&2; exit 1; }
	@touch $@

# --- the service on this machine ------------------------------------------------------------------------------------------

PORT ?= 8080
# With ENDPOINT=1 image-heavy requests are counted by the model's own processor, whose packages come with the tools; with
# RECORD_EVENTS=1 count requests are recorded for the replay.
run: port .venv/run $(if $(ENDPOINT),.venv/dev) layers
	@$(VENV)/python -m local --port $(PORT) $(if $(ENDPOINT),--endpoint) $(if $(RECORD_EVENTS),--record-events)

# The functions and layers as built for this machine, in containers, by SAM local.
sam-local: port docker .venv/run .venv-sam/installed layers
	@echo "building the functions and layers, then starting containers: a minute or two"
	@$(VENV)/python -m local --port $(PORT) --sam

# Asked first: a taken port should not be found out after minutes of building.
.PHONY: port
port:
	@[ -z "$(PYTHON)" ] || $(PYTHON) -m local.port $(PORT)

.PHONY: docker
docker:
	@[ -z "$(PYTHON)" ] || $(PYTHON) -m local.docker

# Each model's files, fetched, verified and put under .build/layers; `MODELS` names some of them.
layers: .venv/run
	@$(VENV)/python -m layers.build $(MODELS)

# A further model's layer, from a hub repository or a folder: what docs/models.md walks through.
.PHONY: model
model: .venv/run
	@[ -n "$(ID)" ] && [ -n "$(HF)" ] || { echo "which model? make model ID=b3os/<name> HF=<org/name or folder> [CONTEXT=<tokens>]" >&2; exit 1; }
	@$(VENV)/python -m layers.scaffold "$(ID)" "$(HF)" $(if $(CONTEXT),--context $(CONTEXT))

# --- tests ----------------------------------------------------------------------------------------------------------------

test: .venv/dev .venv-sam/installed .venv-checkov/installed layers
	@$(VENV)/python -m pytest --numprocesses 2 --dist loadgroup --cov --cov-report term $(TESTS)

# The tests of tests/e2e that ask nothing but the service, with SAM local for it.
test-sam-local: docker .venv/dev .venv-sam/installed layers
	@$(VENV)/python -m pytest --sam-local tests/e2e

check: .venv/dev
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
	@$(VENV)/lint-imports

format: .venv/dev
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

# Requests that are hostile or strange, to a stack of its own: FUZZ_REQUESTS of them, the same for the same FUZZ_SEED.
fuzz: .venv/dev layers
	@$(VENV)/python -m tests.fuzz
	@FUZZ_BOMBS=all $(VENV)/python -m pytest --quiet tests/e2e/test_bombs.py

# Each part of a stack of its own is broken in turn while requests flow: some ten minutes, and the table of docs/reliability.md.
.PHONY: faults
faults: .venv/dev layers
	@FAULTS=long $(VENV)/python -m pytest --quiet tests/faults

# All tables of docs/benchmarks.md, or those that TABLES names: some twelve minutes with the 20 ROUNDS of each.
ROUNDS ?= 20
.PHONY: bench
bench: .venv/dev .build/obvious/installed layers
	@$(VENV)/python -m bench $(TABLES) --rounds $(ROUNDS) --python $(shell $(PYTHON) -c 'import sys; print(sys.executable)') \
		--obvious .build/obvious/bin/python --write docs/benchmarks.md

# Requests that wait for no answer: RATES a second, SECONDS of each, then SOAK minutes at half of what was kept up with.
# To a stack of its own, or to the service at URL for the API key in KEY; to every model, or MODELS.
RATES ?= 10 20 30 40 60
SECONDS ?= 30
SOAK ?= 10
.PHONY: load
load: .venv/dev $(if $(URL),,layers)
	@$(VENV)/python -m bench.load $(RATES) --seconds $(SECONDS) --soak $(SOAK) $(if $(MODELS),--models $(MODELS)) \
		$(if $(URL),--url $(URL),--write docs/benchmarks.md)

# What a million requests cost, from what some of them take of a stack of its own.
.PHONY: cost
cost: .venv/dev layers
	@$(VENV)/python -m bench.cost --write docs/operations.md

# What a counter is compared with.
.build/obvious/installed: .venv/uv locks/obvious.txt
	@echo "installing the obvious counter's packages into .build/obvious"
	@$(PYTHON) -m venv .build/obvious
	@$(UV_INSTALL) --python .build/obvious -r locks/obvious.txt || { rm -rf .build/obvious; exit 1; }
	@touch $@

# The document of the HTTP contract, from the code's own facts.
openapi: .venv/dev
	@$(VENV)/python -m docs.openapi

clean:
	rm -rf .build .local .aws-sam .coverage

# --- locks ----------------------------------------------------------------------------------------------------------------

COMPILE = $(VENV)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml
RUN_GROUPS = --group functions --group runtime --group build --group local
lock: .venv/uv
	$(COMPILE) $(RUN_GROUPS) --group endpoint --group test --group check -o locks/dev.txt
	$(COMPILE) $(RUN_GROUPS) -c locks/dev.txt -o locks/run.txt
	$(COMPILE) --group endpoint --group gpu -c locks/dev.txt -o locks/endpoint.txt
	$(COMPILE) --group obvious -c locks/dev.txt -o locks/obvious.txt
	$(COMPILE) --group uv -o locks/uv.txt
	$(COMPILE) --group sam -o locks/sam.txt
	$(COMPILE) --group checkov -o locks/checkov.txt
	$(COMPILE) --group anthropic-1 -o locks/anthropic-1.txt
	$(COMPILE) --group node -o locks/node.txt
	$(COMPILE) --group java -o locks/java.txt
	$(COMPILE) --group functions -c locks/dev.txt --no-emit-package pydantic-core --no-emit-package markupsafe -o functions/requirements.txt
	$(COMPILE) --group runtime --no-deps -c locks/dev.txt -o layers/runtime/requirements.txt

# --- deployment -----------------------------------------------------------------------------------------------------------

.venv-sam/installed: .venv/uv locks/sam.txt
	@echo "installing the SAM CLI into .venv-sam"
	@$(PYTHON) -m venv --without-pip .venv-sam
	@$(UV_INSTALL) --python .venv-sam -r locks/sam.txt || { rm -rf .venv-sam; \
		echo "could not install the packages of locks/sam.txt: is a package registry reachable, and the disk not full?" >&2; exit 1; }
	@touch $@

.venv-checkov/installed: .venv/uv locks/checkov.txt
	@echo "installing checkov into .venv-checkov"
	@$(PYTHON) -m venv --without-pip .venv-checkov
	@$(UV_INSTALL) --python .venv-checkov -r locks/checkov.txt || { rm -rf .venv-checkov; \
		echo "could not install the packages of locks/checkov.txt: is a package registry reachable, and the disk not full?" >&2; exit 1; }
	@touch $@

# Processor of the functions, arm64 or x86_64: by default the one that samconfig.toml deploys for.
ARCH ?= $(shell $(PYTHON) -m deploy.samconfig architecture)
validate build: export SAM_CLI_TELEMETRY := 0
# Neither speaks to AWS, yet SAM wants a region.
validate build: export AWS_DEFAULT_REGION ?= us-east-1

# cfn-lint's rules and checkov's. Checkov passes over what hangs on a condition that does not hold by default.
validate: .venv-sam/installed .venv-checkov/installed
	@.venv-sam/bin/sam validate
	@mkdir -p .build
	@sed 's/^    Condition: .*//' template.yaml > .build/template.yaml
	@.venv-checkov/bin/checkov --file .build/template.yaml

build: .venv-sam/installed layers
	@MAKEFLAGS=--no-print-directory .venv-sam/bin/sam build --parameter-overrides Architecture=$(ARCH)

# Everything checked, built, looked through and deployed as samconfig.toml says. GUIDED=1, the first time, asks for what it
# should say, and ends with a look at the answer: a processor other than the one that was built for would not run.
.PHONY: deploy
deploy: export SAM_CLI_TELEMETRY := 0
deploy: validate build
	@$(VENV)/python -m deploy.packages $(if $(GUIDED),$(ARCH))
	@.venv-sam/bin/sam deploy $(if $(GUIDED),--guided --parameter-overrides Architecture=$(ARCH))
	@$(if $(GUIDED),$(VENV)/python -m deploy.packages)

# The first organization, project and user of a deployment, with a token, a session and an API key; later NEW=key, pat or
# session makes another credential of theirs. STACK is by default the one of samconfig.toml; TABLE names a table itself.
bootstrap: .venv/run
	@$(VENV)/python -m $(if $(TABLE),tokencount.bootstrap $(TABLE),deploy.bootstrap $(if $(STACK),--stack $(STACK))) $(if $(NEW),--new $(NEW))
