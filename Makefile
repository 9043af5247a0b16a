# wakeproof: every command of the project. `make help` lists them; V=1 shows what they run.
# Each target that needs the environment makes it: build/venv, by tools/bootstrap.py.

PYTHON ?= python3
BIN    := build/venv/bin
Q      := $(if $(filter 1,$(V)),,@)
T      ?=

# FRESH=1: judge all, whatever was judged before; `audit` then writes verdicts.lock.
export WAKEPROOF_FRESH := $(FRESH)

C_FOLDERS := bench examples kernel python stress tests

.DEFAULT_GOAL := help
.SECONDARY:
.PHONY: help test judges audit audit-full explore explore-full conform spec-twins paths linear check-specs check-specs-full stress orders mutants soak bench results tools lint venv clean examples fuzz-http soak-http bench-http builds claims test-stdlib test-package tables docs

##@ The two commands
audit: judges venv ## Judge what has changed, and print claim x judge  [FRESH=1: all] [MODE=sanity|quick|default|tough]
	$(Q)$(BIN)/wakeproof audit $(if $(MODE),--mode $(MODE))

claims: venv ## Print every claim in words, with its code and scenarios
	$(Q)$(BIN)/wakeproof audit --claims

audit-full: audit stress check-specs-full explore-full conform spec-twins paths linear ## The audit, and what takes longer

test: venv ## Run every test  [T=EXPRESSION]
	$(Q)$(BIN)/python -m pytest -q -n 2 --dist worksteal $(if $(T),-k '$(T)')

##@ One judge
check-specs: venv ## Model-check every spec; each broken twin must fail  [T=REGEX]
	$(Q)$(BIN)/wakeproof check $(if $(T),-t '$(T)')

check-specs-full: venv ## The large configurations as well, up to an hour  [T=REGEX]
	$(Q)$(BIN)/wakeproof check --full $(if $(T),-t '$(T)')

stress: venv ## Run the scenarios on real cores  [T=REGEX]
	$(Q)$(BIN)/wakeproof stress $(if $(T),-t '$(T)')

explore: venv ## Every interleaving and reordering of the compiled scenarios  [T=REGEX]
	$(Q)$(BIN)/wakeproof explore --parallel $(if $(T),-t '$(T)')

explore-full: venv ## The two-carrier search without a bound on loops: minutes, 1 GB
	$(Q)$(BIN)/wakeproof explore --parallel -t search_two --model sc,tso --loop-bound 0 --seconds 0

conform: venv ## The code's state graph must be TLC's  [T=REGEX]
	$(Q)$(BIN)/wakeproof conform $(if $(T),-t '$(T)')

spec-twins: venv ## Every twin of every spec must differ from the code, or say why not  [T=REGEX]
	$(Q)$(BIN)/wakeproof conform --spec-twins $(if $(T),-t '$(T)')

paths: venv ## The code runs along paths over every edge of its spec, made from TLC's graph  [T=REGEX]
	$(Q)$(BIN)/wakeproof conform --paths $(if $(T),-t '$(T)')

linear: venv ## Queue and ticket are linearizable: every history, against their sequential specs  [T=REGEX]
	$(Q)$(BIN)/wakeproof linear $(if $(T),-t '$(T)')

mutants: venv ## Defects by rule, over the whole kernel: hours for all  [N=NUMBER] [T=REGEX of files] [SEED=N]
	$(Q)$(BIN)/python -m tools.mutants --jobs 2 $(if $(N),--sample $(N)) $(if $(T),--file "$(T)") \
	  $(if $(SEED),--seed $(SEED))

orders: venv ## Each memory order one step weaker must break a scenario  [T=REGEX of labels]
	$(Q)$(BIN)/wakeproof orders $(if $(T),-t '$(T)')

soak: venv ## Groups from start to close for a minute in each build  [S=SECONDS] [SEED=N]
	$(Q)WAKEPROOF_SOAK_S=$(or $(S),60) WAKEPROOF_SOAK_SEED=$(SEED) \
	  $(BIN)/python -m pytest -q -rP tests/sched/test_group_soak.py tests/sched/test_group_help.py \
	  tests/sched/test_vthread_stackful_soak.py tests/across/test_mixed.py \
	  -k 'one_fate or helps or lost or together'

builds: venv ## Every scenario with each compiler and sanitizer, and as AArch64 under qemu
	$(Q)WAKEPROOF_BUILDS=1 $(BIN)/python -m pytest -q -n 2 tests/judge/test_scenarios.py

test-stdlib: venv ## All of CPython's tests of its ThreadPoolExecutor, over our executors: two minutes
	$(Q)WAKEPROOF_TIMED=1 $(BIN)/python -m pytest -q -n 2 tests/python/test_executors_stdlib.py

test-package: venv ## Source archive and wheel, installed from the registry into empty environments
	$(Q)WAKEPROOF_REGISTRY=1 $(BIN)/python -m pytest -q -rP tests/project/test_installed.py

##@ For developers
bench: venv ## Speed against peers and limits, in one run  [T=REGEX]
	$(Q)$(BIN)/wakeproof bench $(if $(T),-t '$(T)')

tables: venv ## Bench tables of pages, run again: minutes, on a quiet machine  [D=docs/PAGE.md]
	$(Q)$(BIN)/python tools/tables.py $(or $(D),docs/guide/placement.md)

docs: venv ## The documentation site, into build/docs; a warning is an error
	$(Q)$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees docs build/docs || \
	  { rm -rf build/doctrees; exit 1; }

bench-http: examples ## An HTTP proxy beside Go, uvloop, the JDK: half an hour  [T=REGEX]
	$(Q)$(BIN)/wakeproof bench-http $(if $(T),-t '$(T)')

results: venv ## What a release printed, into docs/results/: an hour, on a quiet machine  [T=PART]
	$(Q)$(BIN)/python -m tools.results $(T)

lint: venv ## ruff, mypy --strict, clang-format; labels, claims and twins of code and specs
	$(Q)$(BIN)/ruff check
	$(Q)$(BIN)/ruff format --check
	$(Q)$(BIN)/clang-format --dry-run -Werror $(shell find $(C_FOLDERS) -name '*.[ch]')
	$(Q)$(BIN)/mypy
	$(Q)$(BIN)/python tools/pairs.py
	$(Q)$(BIN)/python tools/layers.py
	$(Q)$(BIN)/python tools/twins.py
	$(Q)$(BIN)/wakeproof audit --claims > /dev/null

include examples/rules.mk
include tools/library/rules.mk

tools: ## Put TLC into your own tlaplus-cli cache, so that `tla tlc Spec.tla` works
	$(Q)$(PYTHON) tools/bootstrap.py --user-tools

clean: ## Remove what was built
	$(Q)rm -rf build dist python/*.egg-info python/wakeproof/_native/*.so .pytest_cache .mypy_cache \
	  .ruff_cache .hypothesis

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	      /^[a-zA-Z%_-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Before the environment is made, which takes a while; the audit itself looks for Java as well.
judges:
	@for tool in objcopy nm; do command -v $$tool >/dev/null || { echo "wakeproof: the judges" \
	  "cannot run: $$tool: not found: apt install binutils" >&2; exit 3; }; done

venv:
	@command -v $(firstword $(PYTHON)) >/dev/null || { echo "wakeproof: no $(PYTHON):" \
	  "install Python 3.11 or newer (Debian: apt install python3 python3-venv)" >&2; exit 3; }
	$(Q)V=$(V) $(PYTHON) tools/bootstrap.py
