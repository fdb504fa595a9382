# `make run` and `make test` are all that a user needs: each sets up what it needs and then does its job.

CARGO ?= cargo
ARGS ?=
# The native libraries of the default build, by pkg-config name and Debian package.
LIBS := hwloc libudev
PACKAGES := build-essential pkg-config libhwloc-dev libudev-dev
# Without libhwloc the program reads sysfs alone.
FEATURES = $(shell pkg-config --exists $(LIBS) 2>/dev/null || echo --no-default-features)

.PHONY: run test guest soak build setup setup-test lint bench picture clean

run: build ## build and start the live monitor
	@target/release/topotop $(ARGS)

build: setup
	@$(CARGO) build --release --locked $(FEATURES)

test: setup setup-test ## build and run every test
	@TOPOTOP_GUEST=1 INSTA_UPDATE=no $(CARGO) test --workspace --locked $(FEATURES)

# Small virtual machines, made once of Debian's packages and kept below ~/.cache/topotop-guest; ARGS="one-queue" picks.
guest: setup setup-test ## boot small machines, make trouble in them, see it found
	@TOPOTOP_GUEST=1 $(CARGO) test --locked $(FEATURES) --test guest -- $(ARGS)

# Two hundred kills of a recording, a CPU that goes offline for a moment, Erlang nodes on one CPU, groups at their limit.
soak: setup setup-test ## the tests that take long or disturb the machine
	@INSTA_UPDATE=no $(CARGO) test --locked $(FEATURES) --test all -- --ignored --nocapture --test-threads 1 record:: log:: trouble::

setup:
	@command -v $(CARGO) >/dev/null || { echo "topotop: cargo is missing: install Rust 1.95 or later, https://rustup.rs" >&2; exit 2; }
	@if ! { command -v cc >/dev/null && pkg-config --exists $(LIBS) 2>/dev/null; }; then ./scripts/packages.sh $(PACKAGES); fi
	@command -v cc >/dev/null || { echo "topotop: a C compiler is missing: install gcc or clang" >&2; exit 2; }
	@pkg-config --exists $(LIBS) 2>/dev/null || echo "topotop: building without libhwloc; for group objects and device locality install: $(PACKAGES)" >&2

# What the tests use beyond the build: a Python that unpacks captured machines, namespaces for unprivileged runs and for
# the network of virtual machines, and what unpacks their drivers.
setup-test:
	@if ! { command -v python3 && command -v unshare && command -v setpriv && command -v ip && command -v xz; } >/dev/null; then ./scripts/packages.sh python3 util-linux iproute2 xz-utils; fi

lint: setup ## formatting, lints and documentation, warnings denied
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets --locked $(FEATURES) -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked $(FEATURES)

bench: setup ## a very wide machine, judging it, a day's recording, what recording costs: ratios within one run
	@$(CARGO) bench --locked $(FEATURES) --bench wide
	@$(CARGO) bench --locked $(FEATURES) --bench judge
	@$(CARGO) bench --locked $(FEATURES) --bench day
	@$(CARGO) bench --locked $(FEATURES) --bench recording

picture: setup ## draw the pictures in the README again
	@$(CARGO) test -q --locked $(FEATURES) --test all -- --ignored --exact screens::writes_the_picture_of_the_readme replay::screen::writes_the_picture_of_the_readme

clean:
	@$(CARGO) clean
