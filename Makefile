# `make run` and `make test` are all that a user needs: each sets up what it needs and then does its job.

CARGO ?= cargo
ARGS ?=
# The native libraries of the default build, by pkg-config name and Debian package.
LIBS := hwloc libudev
PACKAGES := build-essential pkg-config libhwloc-dev libudev-dev
# Without libhwloc the program reads sysfs only.
FEATURES = $(shell pkg-config --exists $(LIBS) 2>/dev/null || echo --no-default-features)

# `make install PREFIX=/usr/local DESTDIR=`: BIN is what is installed; an empty PREFIX is /.
PREFIX ?= /usr/local
BIN ?= target/release/topotop

.PHONY: install static dist dist-check dist-tools demo run test guest guest-change measured limits soak attack churn fleet audit calibrate pairs build setup setup-test lint bench picture clean

run: build ## build and start the live monitor
	@target/release/topotop $(ARGS)

build: setup
	@$(CARGO) build --release --locked $(FEATURES)

# Many tests wait for samples: three of them for each CPU.
test: setup setup-test ## build; every test that needs no virtual machine, and one small virtual machine
	@TOPOTOP_GUEST=smoke INSTA_UPDATE=no RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) * 3))} $(CARGO) test --workspace --locked $(FEATURES)

# Small virtual machines, built once from Debian packages and kept in ~/.cache/topotop-guest. docs/testing.md has the tiers.
# ARGS="one-queue quota" picks scenarios by parts of their names.
guest: setup setup-test ## every functional scenario in virtual machines
	@TOPOTOP_GUEST=all $(CARGO) test --locked $(FEATURES) --test guest -- $(ARGS)

guest-change: setup setup-test ## the scenarios that a change touches, and a share of the others: what CI runs
	@TOPOTOP_GUEST=change $(CARGO) test --locked $(FEATURES) --test guest -- $(ARGS)

measured: setup setup-test ## effects of fixes and the verdicts on them, in rounds; needs an otherwise idle machine
	@TOPOTOP_GUEST=measured $(CARGO) test --locked $(FEATURES) --test guest -- $(ARGS)

# Real programs from Debian packages, each driven into one known limit: control groups and network namespaces, so as root.
# ARGS="quota redis" picks scenarios by parts of their names, --answers-only tries no remedies, --keep DIR keeps
# recordings, --write-docs writes docs/limits.md.
limits: build setup-test ## check that the answer names the limit of 32 loads, by trying remedies; needs an otherwise idle machine
	@TOPOTOP_LIMITS=1 TOPOTOP_BIN=$${TOPOTOP_BIN:-target/release/topotop} $(CARGO) test --locked $(FEATURES) --test limits -- $(ARGS)

# Two hundred kills of a recording, a CPU that goes offline for a moment, Erlang nodes on one CPU, groups at their limit.
soak: setup setup-test ## tests that run for a long time or disturb the machine
	@./scripts/test-tools.sh erl=erlang-base taskset=util-linux
	@INSTA_UPDATE=no $(CARGO) test --locked $(FEATURES) --test all -- --ignored --nocapture --test-threads 1 record:: log:: trouble::

# ARGS="minutes=20 seed=7"; links, full disks, kills and signals of the ordinary tests run before.
attack: setup setup-test ## hostile recordings, --root trees, signals, pages and files, for the given number of minutes
	@INSTA_UPDATE=no $(CARGO) test --locked $(FEATURES) --test all -- safety:: fixes::killed:: record::faults:: hostile:: fuzzed::
	@TOPOTOP_ATTACK="$(ARGS)" $(CARGO) test --locked $(FEATURES) --test all -- --ignored --nocapture --test-threads 1 safety::attack:: safety::extremes::hostile fixes::killed::killed_at

# ARGS="minutes=60 forks=200 groups=500"; as root.
churn: build setup-test ## a recording while processes, groups and interfaces come and go: its memory, descriptors and losses
	@./scripts/churn.sh $(ARGS)

# ARGS="--minutes 2 --only cost,attack"; as root, with Debian's prometheus, prometheus-node-exporter and victoria-metrics.
fleet: build ## serve under Prometheus and VictoriaMetrics: ten minutes of scrapes, every dashboard's query, attacks, cost, a hundred hosts
	@python3 scripts/fleet.py $(ARGS)

install: ## the program, its manual, completions, units, dashboards, alert rules and licences, below DESTDIR and PREFIX
	@test -x "$(BIN)" || $(MAKE) build
	@BIN="$(BIN)" PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" ./scripts/install.sh

# TARGET=x86_64-unknown-linux-musl or aarch64-unknown-linux-gnu (or -musl): scripts/dist.sh says which toolchain each needs.
static: ## a static binary, without libhwloc, for every distribution with Linux 4.18 or later
	@TARGET=$(TARGET) ./scripts/dist.sh static

dist: ## .deb, .rpm, tarball, SBOM and checksums of the static binary, in target/dist
	@TARGET=$(TARGET) ./scripts/dist.sh all

# As root: a clean Debian by debootstrap, and the kernels of the virtual machines with nothing but the tarball.
dist-check: ## check that the packages of `make dist` install, run without any library and uninstall cleanly
	@./scripts/test-tools.sh debootstrap=debootstrap setpriv=util-linux unshare=util-linux
	@python3 scripts/dist-check.py $(ARGS)

dist-tools: ## install the packaging tools into target/tools
	@$(CARGO) install --locked --root target/tools cargo-deb@3.8.0 cargo-generate-rpm@0.21.1

demo: setup ## regenerate the recording of `topotop demo`
	@$(CARGO) test -q --locked $(FEATURES) --test all -- --ignored --exact moving::demo::writes_the_recording_of_the_demo

audit: setup ## licences, sources and known vulnerabilities of every crate
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny --locked check; else python3 scripts/audit.py && { \
	    echo "topotop: known vulnerabilities are not checked: cargo-deny is missing: cargo install --locked cargo-deny" >&2; exit 2; }; fi

setup:
	@command -v $(CARGO) >/dev/null || { echo "topotop: cargo is missing: install Rust 1.95 or later, https://rustup.rs" >&2; exit 2; }
	@if ! { command -v cc >/dev/null && pkg-config --exists $(LIBS) 2>/dev/null; }; then ./scripts/packages.sh $(PACKAGES); fi
	@command -v cc >/dev/null || { echo "topotop: a C compiler is missing: install gcc or clang" >&2; exit 2; }
	@pkg-config --exists $(LIBS) 2>/dev/null || echo "topotop: building without libhwloc; for group objects and device locality install: $(PACKAGES)" >&2

# What the tests use beyond the build: a Python that unpacks captured machines, namespaces and system call traces for
# unprivileged runs, and the tools that build virtual machines.
setup-test:
	@./scripts/test-tools.sh python3=python3 unshare=util-linux setpriv=util-linux nsenter=util-linux taskset=util-linux \
	    ionice=util-linux flock=util-linux ip=iproute2 xz=xz-utils ethtool=ethtool strace=strace git=git \
	    systemd-analyze=systemd
	@PYTHONPATH=target/tools/python python3 -c 'import duckdb' 2>/dev/null || \
	    python3 -m pip install -q --disable-pip-version-check --target target/tools/python duckdb==1.1.3 2>/dev/null || \
	    echo "topotop: no DuckDB for Python: the queries of docs/many-recordings.md are not tested" >&2

# False alarms, power and coverage of verdicts over recorded noise with known effects.
calibrate: setup ## regenerate the tables of docs/diff.md
	@$(CARGO) test -q -p topotop-model --locked --lib -- --ignored --exact diff::calibration::writes_the_tables

pairs: build ## real load tests in pairs (root, apt packages), 45 minutes: ARGS="--only clients,same --repeat 1"
	@python3 tests/pairs/run.py $(ARGS)

lint: setup ## formatting, lints and documentation, warnings denied
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked $(FEATURES) -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked $(FEATURES)

bench: setup ## 1,024 CPUs, rule evaluation, a day's recording, the cost of recording: ratios within one run
	@$(CARGO) bench --locked $(FEATURES) --bench wide
	@$(CARGO) bench --locked $(FEATURES) --bench judge
	@$(CARGO) bench --locked $(FEATURES) --bench day
	@$(CARGO) bench --locked $(FEATURES) --bench recording

picture: setup ## regenerate the pictures in the README
	@$(CARGO) test -q --locked $(FEATURES) --test all -- --ignored --exact screens::writes_the_picture_of_the_readme replay::screen::writes_the_picture_of_the_readme

clean:
	@$(CARGO) clean
