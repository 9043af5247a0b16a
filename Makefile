# wakeproof: every command of the project. `make help` lists the commands; V=1 shows what they run.
# Each target that needs the environment build/venv makes it first, by tools/bootstrap.py.

PYTHON ?= python3
BIN    := build/venv/bin
Q      := $(if $(filter 1,$(V)),,@)
T      ?=

# FRESH=1: judge everything again, also what was judged before; `audit` then writes verdicts.lock.
export WAKEPROOF_FRESH := $(FRESH)

C_FOLDERS := bench examples kernel python stress tests

.DEFAULT_GOAL := help
.SECONDARY:
.PHONY: help test judges audit audit-full explore explore-full conform spec-twins paths linear check-specs check-specs-full stress orders mutants museum soak bench results campaign campaign-judges soak-threads soak-aio tools lint venv clean examples fuzz-http soak-http bench-http builds claims test-stdlib test-loops clients crawl test-package wheels pythons bench-pythons free-threaded tables docs herd wild watch-corpus watch-twins cluster

##@ The two commands
audit: judges venv ## Judge what has changed: claim x judge, and a page of it  [FRESH=1: all] [MODE=sanity|quick|default|tough]
	$(Q)$(BIN)/wakeproof audit $(if $(MODE),--mode $(MODE))

claims: venv ## Print every claim in words, with its code and scenarios
	$(Q)$(BIN)/wakeproof audit --claims

audit-full: audit stress check-specs-full explore-full conform spec-twins paths linear ## The audit, and the checks that take longer

test: venv ## Run every test  [T=EXPRESSION]
	$(Q)$(BIN)/python -m pytest -q -n 2 --dist worksteal $(if $(T),-k '$(T)')

##@ One judge
check-specs: venv ## Model-check every spec; each broken twin must fail  [T=REGEX]
	$(Q)$(BIN)/wakeproof check $(if $(T),-t '$(T)')

check-specs-full: venv ## Model-check the large configurations as well: up to an hour  [T=REGEX]
	$(Q)$(BIN)/wakeproof check --full $(if $(T),-t '$(T)')

stress: venv ## Run the scenarios on real cores  [T=REGEX]
	$(Q)$(BIN)/wakeproof stress $(if $(T),-t '$(T)')

explore: venv ## Explore every interleaving and reordering of the scenarios  [T=REGEX]
	$(Q)$(BIN)/wakeproof explore --parallel $(if $(T),-t '$(T)')

explore-full: venv ## Explore the two-carrier search without a bound on loops: minutes, 1 GB
	$(Q)$(BIN)/wakeproof explore --parallel -t search_two --model sc,tso --loop-bound 0 --seconds 0

prove: venv ## Safety for any number of threads: inductive invariants by z3 and cvc5  [T=REGEX]
	$(Q)$(BIN)/wakeproof prove $(if $(T),-t '$(T)')

conform: venv ## Compare the state graphs of code and specs  [T=REGEX]
	$(Q)$(BIN)/wakeproof conform $(if $(T),-t '$(T)')

spec-twins: venv ## Every twin of every spec must differ from the code, or have a reason  [T=REGEX]
	$(Q)$(BIN)/wakeproof conform --spec-twins $(if $(T),-t '$(T)')

paths: venv ## Run the code along paths over every edge of its spec's graph  [T=REGEX]
	$(Q)$(BIN)/wakeproof conform --paths $(if $(T),-t '$(T)')

museum: venv ## Judge real lost wakeups of other systems, beside plain runs and ThreadSanitizer
	$(Q)$(BIN)/wakeproof museum table

watch-corpus: venv ## Watch hangs and healthy programs from outside: a quarter of an hour  [S=SECONDS]
	$(Q)$(BIN)/python -m tests.judge.watch.run $(or $(S),60)

watch-twins: venv ## Watch broken kernels that hang by themselves from outside: 20 minutes  [T=TWINS]
	$(Q)$(BIN)/python -m tests.judge.watch.twins $(T)

linear: venv ## Check that queues and the biased lock are linearizable, in every history  [T=REGEX]
	$(Q)$(BIN)/wakeproof linear $(if $(T),-t '$(T)')

mutants: venv ## Mutation testing of the kernel, by cheap judges: hours for all  [N=NUMBER] [T=REGEX of files] [SEED=N]
	$(Q)$(BIN)/python -m tools.mutants --jobs 2 $(if $(N),--sample $(N)) $(if $(T),--file "$(T)") \
	  $(if $(SEED),--seed $(SEED))

orders: venv ## Weaken each memory order by one step; a scenario must fail  [T=REGEX of labels]
	$(Q)$(BIN)/wakeproof orders $(if $(T),-t '$(T)')

herd: venv ## herd7 against our memory models: the corpus and N random programs; fetches herd7  [N=1000]
	$(Q)$(BIN)/python -m tools.herd
	$(Q)WAKEPROOF_HERD=$(or $(N),1000) $(BIN)/python -m pytest -q -rPs -n 2 -o faulthandler_timeout=0 \
	  tests/judge/explore/test_herd.py

own-full: venv ## Programs with threads of their own: the whole litmus corpus in C, 500 random ones
	$(Q)WAKEPROOF_TRUST=20 $(BIN)/python -m pytest -q -n 2 -o faulthandler_timeout=0 --dist worksteal \
	  tests/judge/own

wild: venv ## Explore released libraries, fetched by name and hash: minutes  [T=LIBRARY[/CASE]]
	$(Q)$(BIN)/python -m tests.wild.run $(T)

cluster: venv ## Judge on four local processes, of which one is killed and one is stopped
	$(Q)WAKEPROOF_CLUSTER=1 $(BIN)/python -m pytest -q tests/judge/test_campaign.py \
	  tests/judge/check/test_distributed.py

soak: venv ## Groups from start to close for a minute in each build  [S=SECONDS] [SEED=N]
	$(Q)WAKEPROOF_SOAK_S=$(or $(S),60) WAKEPROOF_SOAK_SEED=$(SEED) \
	  $(BIN)/python -m pytest -q -rP tests/sched/test_group_soak.py tests/sched/test_group_help.py \
	  tests/sched/test_vthread_stackful_soak.py tests/across/test_mixed.py \
	  -k 'one_fate or helps or lost or together'

soak-aio: venv ## Threads call an event loop that sleeps as often as it can; none is lost  [N=CALLS]
	$(Q)$(BIN)/python -m tests.python.aio_soak $(or $(N),1e8)

builds: venv ## Run every scenario with each compiler and sanitizer, and as AArch64 under qemu
	$(Q)WAKEPROOF_BUILDS=1 $(BIN)/python -m pytest -q -n 2 tests/judge/test_scenarios.py

test-stdlib: venv ## Run CPython's own tests in virtual threads, with our event loop, of its executor on ours  [T=MODULES]
	$(Q)$(BIN)/python -m tests.stdlib.run $(T)
	$(Q)WAKEPROOF_TIMED=1 $(BIN)/python -m pytest -q -n 2 tests/python/test_executors_stdlib.py

test-loops: build/loops/fetched ## Run the suites of aiohttp, anyio, uvicorn and uvloop with our event loop  [T=SUITE[:PATTERN]]
	$(Q)$(BIN)/python -m tests.loops.run $(T)

# Only the four are built from their archives; what pip needs to read these are wheels.
build/loops/fetched: tests/loops/requirements.txt tests/loops/sources.txt | venv
	$(Q)rm -rf build/loops
	$(Q)$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps \
	  --only-binary :all: --target build/loops/packages -r $<
	$(Q)$(BIN)/pip download -q --disable-pip-version-check --require-hashes --no-deps \
	  --no-binary aiohttp,anyio,uvicorn,uvloop -d build/loops/archives -r tests/loops/sources.txt
	$(Q)for archive in build/loops/archives/*; do name=$$(basename $${archive%-*}); \
	  mkdir -p build/loops/suites/$$name; \
	  tar -xzf $$archive -C build/loops/suites/$$name --strip-components 1 || exit; \
	  rm -rf build/loops/suites/$$name/$$name; done  # their packages are those that were installed
	$(Q)touch $@

clients: build/clients/fetched ## Run unmodified client libraries against real servers, in virtual threads
	$(Q)$(BIN)/python -m pytest -q -rs tests/clients

crawl: build/clients/fetched ## Measure a crawler in OS threads and in virtual ones
	$(Q)$(BIN)/python -m tests.clients.crawl

build/clients/fetched: tests/clients/requirements.txt | venv
	$(Q)rm -rf build/clients
	$(Q)$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps \
	  --only-binary :all: --target build/clients -r $<
	$(Q)touch $@

pythons: venv ## Test Python's part under other Pythons, found or fetched  [PYTHONS="3.14"] [T=EXPRESSION]
	$(Q)$(BIN)/python -m tools.pythons test $(or $(PYTHONS),3.12 3.13 3.14) $(if $(T),-- -k '$(T)')

bench-pythons: venv ## Virtual threads beside asyncio under other Pythons  [PYTHONS="3.14"]
	$(Q)$(BIN)/python -m tools.pythons rows $(or $(PYTHONS),3.11 3.12 3.13 3.14)

free-threaded: venv ## Test and measure without the GIL; builds Python once: 15 minutes  [T=EXPRESSION]
	$(Q)$(BIN)/python -m tools.pythons free $(if $(T),-- -k '$(T)')

test-package: venv ## Install source archive and wheel into empty environments, from the registry
	$(Q)WAKEPROOF_REGISTRY=1 $(BIN)/python -m pytest -q -rP -o faulthandler_timeout=0 tests/project/test_installed.py

wheels: build/wheels/tools/fetched ## Build wheels and test each in an empty environment  [PYTHONS="3.14 aarch64"]
	$(Q)$(BIN)/python -m tools.wheels $(or $(PYTHONS),3.11 3.12 3.13 3.14 3.14t aarch64)

build/wheels/tools/fetched: tools/wheels/requirements.txt | venv
	$(Q)rm -rf build/wheels/tools
	$(Q)$(BIN)/python -m venv build/wheels/tools
	$(Q)build/wheels/tools/bin/pip install -q --disable-pip-version-check --require-hashes \
	  --only-binary :all: -r $<
	$(Q)touch $@

##@ For developers
bench: venv ## Measure speed against peers and limits, in one run  [T=REGEX]
	$(Q)$(BIN)/wakeproof bench $(if $(T),-t '$(T)')

tables: venv ## Renew the bench tables of pages: minutes, on a quiet machine  [D=docs/PAGE.md]
	$(Q)$(BIN)/python tools/tables.py $(or $(D),docs/guide/placement.md)

docs: venv ## Build the documentation site into build/docs; a warning is an error
	$(Q)$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees docs build/docs || \
	  { rm -rf build/doctrees; exit 1; }

bench-http: examples ## Measure an HTTP proxy beside Go, uvloop, the JDK: half an hour  [T=REGEX]
	$(Q)$(BIN)/wakeproof bench-http $(if $(T),-t '$(T)')

campaign: venv ## Let each call of a running kernel to the system fail in turn: a minute
	$(Q)$(BIN)/python -m tools.campaign

campaign-judges: venv ## Let calls of the judges to the system fail, one in each run: a quarter of an hour
	$(Q)$(BIN)/python -m tools.campaign_judges

soak-threads: venv ## A million virtual threads, in four builds, S seconds each; goes on where it stopped  [S=1800]
	$(Q)$(BIN)/python -m tools.soak_threads $(or $(S),1800)

results: venv ## Write docs/results/, the results of a release: an hour, on a quiet machine  [T=PART]
	$(Q)$(BIN)/python -m tools.results $(T)

lint: venv ## Run ruff, mypy --strict, clang-format; check labels, claims and twins
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

# Checks this before the environment is made, which takes a while; the audit looks for Java as well.
judges:
	@for tool in objcopy nm; do command -v $$tool >/dev/null || { echo "wakeproof: the judges" \
	  "cannot run: $$tool: not found: apt install binutils" >&2; exit 3; }; done

venv:
	@command -v $(firstword $(PYTHON)) >/dev/null || { echo "wakeproof: no $(PYTHON):" \
	  "install Python 3.11 or newer (Debian: apt install python3 python3-venv)" >&2; exit 3; }
	$(Q)V=$(V) $(PYTHON) tools/bootstrap.py
