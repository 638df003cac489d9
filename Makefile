# Everything a new machine needs is set up by the targets themselves: Python 3.11 or newer, git and a compiler suffice.
PYTHON ?= python3
BASE   := .venv-base
DEV    := .venv
TORCH  ?= torch==2.13.0

.PHONY: check check-torch test lint types campaign bench clean

$(BASE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(BASE)
	$(BASE)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(DEV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(DEV)/bin/uv pip install --quiet --compile-bytecode --python $(DEV)/bin/python --editable . --group dev
	touch $@

# The CPU build of PyTorch, where a local wheel directory is configured. Without one this target says so and
# goes on: the tests that need PyTorch are then skipped, and the summary counts them.
$(DEV)/.torch: $(DEV)/.ready
	@if [ -n "$$PIP_FIND_LINKS" ]; then \
	  $(DEV)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) && touch $@; \
	else echo "no PIP_FIND_LINKS: PyTorch is not installed, its tests will be skipped (make torch installs it)"; fi

.PHONY: torch
torch: $(DEV)/.ready
	$(DEV)/bin/python -m pip install --disable-pip-version-check $(TORCH)
	touch $(DEV)/.torch

check: $(BASE)/.ready
	PATH="$(CURDIR)/$(BASE)/bin:$$PATH" sh benchmarks/main_job.sh

check-torch: $(DEV)/.ready $(DEV)/.torch
	PATH="$(CURDIR)/$(DEV)/bin:$$PATH" sh benchmarks/main_job_torch.sh

lint: $(DEV)/.ready
	$(DEV)/bin/ruff check src tests benchmarks
	$(DEV)/bin/ruff format --check src tests benchmarks
	$(DEV)/bin/mypy
	$(DEV)/bin/lint-imports

test: $(DEV)/.ready $(DEV)/.torch lint
	$(DEV)/bin/python -m pytest -n 2 --dist loadfile

campaign: $(DEV)/.ready $(DEV)/.torch
	$(DEV)/bin/python -m pytest -m campaign

clean:
	rm -rf $(BASE) $(DEV)
