# Two commands do all set-up: `make demo` and `make test`. Everything else assumes one of them ran.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LABS := $(BIN)/labs

.PHONY: demo test attacks faults fuzz check check-labs flakes bench lint schema clean setup
.PHONY: list-missions patch-test patch-test-all patch-hint patch-show-solution

demo: $(VENV)/ready  ## the main job on a local hub in a temporary folder: five pushes, five verdicts
	@$(BIN)/python scripts/demo.py

test: $(VENV)/ready  ## the project's own tests, and starter, reference and two mistakes of each lab
	@$(BIN)/python -m pytest tests -n 2

attacks: $(VENV)/ready  ## the attack corpus: hostile commits, hostile code, hostile text, faults
	@$(BIN)/python -m pytest tests/attacks -n 2

faults: $(VENV)/ready  ## kill -9 at fifty random instants each, full disks, twenty pushes at once: half an hour
	@$(BIN)/python scripts/faults.py

fuzz: $(VENV)/ready  ## every reader of what a learner can write, with 10,000 examples a test (nightly)
	@MAINLINE_FUZZ=nightly $(BIN)/python -m pytest tests/fuzz

check: $(VENV)/ready lint  ## everything: all definitions of torch.distributed, all labs with all mistakes
	@MAINLINE_ALL_DEFINITIONS=1 $(BIN)/python -m pytest tests
	@$(MAKE) --no-print-directory check-labs

check-labs: $(VENV)/ready  ## the author gate: each lab's starter, reference, mistakes, mutants (MUTANTS=40 SINCE=HEAD~9 SHARD=1/4)
	@$(LABS) check -n 2 $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(SINCE),--since $(SINCE)) $(if $(SHARD),--shard $(SHARD))

flakes: $(VENV)/ready  ## 100 gradings of each reference with 100 seeds
	@$(BIN)/python scripts/flakes.py

bench: $(VENV)/ready
	@$(BIN)/python scripts/bench_grading.py

lint: $(VENV)/ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

schema: $(VENV)/ready  ## rewrite the Report's JSON schema from its model
	@$(BIN)/python scripts/write_schema.py

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Mainline into $(VENV) (torch is large: this takes a minute or two) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) *.egg-info .pytest_cache .ruff_cache .hypothesis

# The names of the course that this one grew from.
M ?= l05
IMPL ?=
list-missions: $(VENV)/ready
	@$(LABS) list
patch-test: $(VENV)/ready
	@$(if $(IMPL),$(LABS) grade $(M) --impl $(IMPL),$(LABS) test $(M))
patch-test-all: $(VENV)/ready
	@$(LABS) grade --all $(if $(IMPL),--impl $(IMPL))
patch-hint: $(VENV)/ready
	@$(LABS) hint --lab $(M)
patch-show-solution: $(VENV)/ready
	@$(LABS) solution $(M)
