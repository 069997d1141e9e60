# Puts pinned packages into an artifact for Lambda's Python, whatever Python the host has. The including Makefile names the
# PLATFORMS whose wheels will do. BUILD_FOR=host takes the host's processor and HOST_PYTHON instead, for tests and the bench.
REPO := $(abspath $(dir $(abspath $(lastword $(MAKEFILE_LIST))))../..)
BUILD_FOR ?= lambda
LAMBDA_PYTHON := $(shell sed -n 's/^ *Runtime: python//p' $(REPO)/template.yaml)
# Whatever PYTHON the make was given that runs SAM.
override PYTHON := $(firstword $(wildcard $(REPO)/.venv/bin/python) python3)

HOST_PYTHON ?= $(PYTHON)

ifeq ($(BUILD_FOR),host)
TARGET =
INSTALLER = $(HOST_PYTHON)
COMPILER := $(HOST_PYTHON)
else
INSTALLER = $(PYTHON)
TARGET = --implementation cp --python-version $(LAMBDA_PYTHON) \
	$(addprefix --platform ,$(or $(PLATFORMS),$(error PLATFORMS is empty: pip would take the wheels of this host)))
COMPILER := $(shell for p in python$(LAMBDA_PYTHON) $(PYTHON); do \
	$$p -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(LAMBDA_PYTHON)")' 2>/dev/null && echo $$p && break; done)
endif

# $(call install,requirements file,folder). Scripts are left out: they name the host's interpreter.
install = @echo "installing the packages of $(1)"; $(INSTALLER) -m pip install --quiet --disable-pip-version-check \
	--require-hashes --no-deps --no-compile --only-binary=:all: $(TARGET) --requirement $(1) --target $(2) && rm -rf $(2)/bin

# $(call compile,folder,where Lambda mounts it). Another version's .pyc files would never be read.
ifneq ($(COMPILER),)
compile = @$(COMPILER) -m compileall -q --invalidation-mode unchecked-hash -s $(1) -p $(2) $(1)
else
compile = @echo "no Python $(LAMBDA_PYTHON) on this host: built without .pyc files, so the first import takes longer"
endif
