# Recipes of Unstuck. `make` lists them; .ci/run calls the same ones.
#
# One target folder, few profiles. Natively always the whole workspace: `-p` would unify features differently and build
# dependencies twice. The front end is built without cargo-leptos: cargo for wasm32, then unstuck-bundle (wasm-bindgen
# as a library, its version fixed by Cargo.lock; built alone, since the server wants its output) writes target/site,
# which the server embeds.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
WASM := $(TARGET)/wasm32-unknown-unknown/wasm-release/unstuck_app.wasm
STAGES := $(TARGET)/stages.txt

# Kerberos alone needs libraries of the machine. `make build` has it when asked (KERBEROS=1). All that is built for tests and
# development has it where it can be built and a KDC is installed: one set of features, so that nothing is built twice.
ASKED := $(filter 1,$(KERBEROS))
ifndef KERBEROS
KERBEROS := $(shell PATH="$$PATH:/usr/sbin:/usr/local/sbin"; has() { compgen -G "$$1" >/dev/null; }; \
  pkg-config --exists mit-krb5-gssapi libsasl2 2>/dev/null \
  && command -v kinit >/dev/null && command -v krb5kdc >/dev/null && command -v kadmin.local >/dev/null \
  && { has '/usr/lib*/llvm*/lib/clang/*/include/stddef.h' || has '/usr/lib*/clang/*/include/stddef.h'; } \
  && { has '/usr/lib*/llvm*/lib/libclang-[0-9]*.so*' || has '/usr/lib*/libclang.so*'; } \
  && { has '/usr/lib*/sasl2/libgssapiv2.so*' || has '/usr/lib/*/sasl2/libgssapiv2.so*'; } && echo 1 || echo 0)
endif
BUILT := $(if $(ASKED),--features kerberos)
FEATURES := $(if $(filter 1,$(KERBEROS)),--features kerberos)
REFERENCES := $(abspath $(TARGET))/snapshot-references.txt

.PHONY: help
help: ## List the recipes
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

.PHONY: run
run: need-rust need-node front-end ## Start a drill, a cluster that fails on purpose, and Unstuck looking at it (needs no Kafka)
	$(CARGO) build --workspace $(FEATURES)
	$(TARGET)/debug/unstuck drill broker-lost

.PHONY: run-kafka
run-kafka: need-rust need-node need-kafka front-end ## The same with three real Kafka brokers and some groups
	$(CARGO) build --workspace $(FEATURES)
	$(TARGET)/debug/demo-cluster

.PHONY: build
build: need-rust need-node $(if $(ASKED),need-kerberos) front-end ## Leave one self-contained binary: target/release/unstuck (KERBEROS=1: with Kerberos)
	$(CARGO) build --workspace --release $(BUILT)
	@ls -lh $(TARGET)/release/unstuck

.PHONY: test
test: need-rust need-node need-kafka need-chromium say-kerberos ## Check and test everything (about 45 minutes on two fresh cores)
	@rm -f $(STAGES); mkdir -p $(TARGET)
	@$(call stage,format,check-format)
	@$(call stage,clippy,check-clippy)
	@$(call stage,front end,front-end)
	@$(call stage,build,build-debug)
	@$(call stage,unit and cross-crate tests,test-quick)
	@$(call stage,documentation,check-docs)
	@$(call stage,licences and bans,check-deny)
	@$(call stage,real Kafka and the browser,test-kafka)
	@echo; echo "How long each stage took:"; column -t -s '|' $(STAGES)

.PHONY: truth
truth: need-rust ## Measure how right Unstuck is about 64 public incidents (docs/truth.md)
	$(CARGO) build --workspace $(FEATURES)
	$(TARGET)/debug/unstuck drill --truth

.PHONY: bench
bench: build ## Measure a release build against real brokers, and the store
	$(CARGO) build --workspace --release $(BUILT) --example measure
	$(TARGET)/release/examples/measure
	$(TARGET)/release/bench

# How long each target is fed, in seconds; there are six.
FUZZ_SECONDS ?= 300

.PHONY: fuzz
fuzz: need-rust ## Feed edited input to all that reads answers, files and ids, five minutes for each (FUZZ_SECONDS=…)
	BOLERO_RANDOM_TEST_TIME_MS=$(FUZZ_SECONDS)000 $(CARGO) test --workspace $(FEATURES) --test fuzz
	BOLERO_RANDOM_TEST_TIME_MS=$(FUZZ_SECONDS)000 $(CARGO) test --workspace $(FEATURES) --lib fuzz::

.PHONY: fmt
fmt: ## Format the sources
	$(CARGO) fmt --all

.PHONY: docs
docs: ## Write anew what is generated: docs/findings.md, docs/scenarios.md with its schema, the table of docs/truth.md
	UPDATE_HANDBOOK=1 $(CARGO) test -p unstuck-diagnosis --test handbook
	UPDATE_SCENARIO_DOCS=1 $(CARGO) test -p unstuck-drill --lib schema
	UPDATE_TRUTH_DOCS=1 $(CARGO) test --workspace $(FEATURES) --lib drill::truth

.PHONY: clean
clean: ## Remove everything that was built (Kafka's jars too)
	rm -rf $(TARGET) end2end/node_modules end2end/test-results

# Runs a recipe and notes how long it took.
define stage
echo; echo "=== $(1)"; begun=$$(date +%s); $(MAKE) --no-print-directory $(2); took=$$(($$(date +%s) - begun)); \
printf '  %s|%d:%02d\n' '$(1)' $$((took / 60)) $$((took % 60)) | tee -a $(STAGES) | tr '|' ' '
endef

# --- the stages of `make test`, each a recipe of its own

.PHONY: check-format
check-format:
	$(CARGO) fmt --all --check

# Where Kerberos is built in, our crates without it too: on the same librdkafka, so that nothing else is built again.
.PHONY: check-clippy
check-clippy:
	$(CARGO) clippy --workspace --all-targets $(FEATURES) -- -D warnings
	$(if $(FEATURES),$(CARGO) clippy --workspace --features rdkafka/gssapi -- -D warnings)
	$(CARGO) clippy -p unstuck-app --features hydrate -- -D warnings

.PHONY: front-end
front-end:
	$(CARGO) rustc -p unstuck-app --lib --crate-type cdylib --target wasm32-unknown-unknown --features hydrate --profile wasm-release
	$(CARGO) build -p unstuck-bundle
	$(TARGET)/debug/unstuck-bundle $(WASM) target/site
	node app/bundle/compress.mjs target/site/pkg

.PHONY: build-debug
build-debug:
	$(CARGO) build --workspace --all-targets $(FEATURES)

.PHONY: test-quick
test-quick: node-bundle
	@rm -f $(REFERENCES)
	BOLERO_RANDOM_TEST_TIME_MS=12000 INSTA_UPDATE=no INSTA_SNAPSHOT_REFERENCES_FILE=$(REFERENCES) $(CARGO) test --workspace $(FEATURES) -- --skip on_real_kafka:: --skip with_kafkas_tools:: --skip in_a_browser::
	@touch $(REFERENCES)
	@stale=$$(comm -23 <(git ls-files -co --exclude-standard '*.snap' | xargs -r realpath | sort) <(xargs -r realpath < $(REFERENCES) | sort -u)); \
	  if [ -n "$$stale" ]; then echo "Snapshots that no test uses:"; echo "$$stale"; exit 1; fi

.PHONY: node-bundle
node-bundle:
	$(TARGET)/debug/unstuck-bundle --nodejs $(WASM) target/node

.PHONY: check-docs
check-docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps $(FEATURES)

# Advisories need a host that not every machine reaches.
.PHONY: check-deny
check-deny:
	$(CARGO) deny --all-features check bans licenses sources

# Among them a browser on a live cluster. Kafka's own tools against drills need Kafka's jars, but no brokers.
.PHONY: test-kafka
test-kafka: end2end/node_modules
	@rm -rf target/matrix
	$(CARGO) test --workspace $(FEATURES) --test kafka -- --test-threads=1
	@echo; echo "What each account sees by each way in (a group on the broker that is killed, one elsewhere):"; \
	  cat target/matrix/* | column -t -s '|'
	$(CARGO) test --workspace $(FEATURES) --test drill -- with_kafkas_tools:: in_a_browser::

.PHONY: test-browser
test-browser: end2end/node_modules ## Only the browser tests, on a live cluster and on a drill
	$(CARGO) test --workspace $(FEATURES) --test drill -- in_a_browser::
	$(CARGO) test --workspace $(FEATURES) --test kafka -- on_real_kafka::browser::

end2end/node_modules: end2end/package-lock.json
	cd end2end && npm ci --no-fund --no-audit
	@touch $@

# --- what must be there, in clear words

.PHONY: need-rust
need-rust:
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs), then run make again."; exit 1; }
	@if command -v rustup >/dev/null && ! rustup target list --installed | grep -q wasm32-unknown-unknown; then \
	  rustup target add wasm32-unknown-unknown; fi
	@perl -MFindBin -MIPC::Cmd -e 1 2>/dev/null && command -v cc >/dev/null || \
	  { echo "Perl or a C compiler is missing (Debian: apt-get install perl build-essential): OpenSSL is compiled in."; exit 1; }

.PHONY: need-node
need-node:
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "Node.js 20 or newer with npm is missing (Debian: apt-get install nodejs npm)."; exit 1; }

# The browser of the browser test.
.PHONY: need-chromium
need-chromium:
	@[ -x "$${CHROMIUM:-/usr/bin/chromium}" ] || { echo "Chromium is missing (Debian: apt-get install chromium), or set CHROMIUM to its path."; exit 1; }

.PHONY: need-kafka
need-kafka:
	@command -v java >/dev/null && command -v keytool >/dev/null || { echo "Java 17 is missing (Debian: apt-get install openjdk-17-jdk-headless): the real brokers need it."; exit 1; }
	@command -v mvn >/dev/null || { echo "Maven is missing (Debian: apt-get install maven): it fetches Kafka, once."; exit 1; }

KERBEROS_PACKAGES := pkg-config libkrb5-dev libsasl2-dev libclang-dev
.PHONY: need-kerberos
need-kerberos:
	@pkg-config --exists mit-krb5-gssapi libsasl2 || \
	  { echo "The Kerberos libraries are missing (Debian: apt-get install $(KERBEROS_PACKAGES))."; exit 1; }

.PHONY: say-kerberos
say-kerberos:
	@[ "$(KERBEROS)" = 1 ] || echo "Kerberos is left out of these tests: for it install (Debian) $(KERBEROS_PACKAGES)" \
	  libsasl2-modules-gssapi-mit krb5-user krb5-kdc krb5-admin-server
