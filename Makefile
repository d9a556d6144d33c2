# SPDX-License-Identifier: GPL-2.0-or-later
# For people. What the modules are made of is in Kbuild, the tools are in
# CMakeLists.txt. "make help" lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local

# The kernel to build for. Looked for once, when something first needs it; help,
# clean and tools do not.
KDIR     ?= $(eval KDIR := $$(call find_kdir))$(KDIR)
find_kdir = $(call or_stop,$(shell scripts/kdir $(KVER) 2>&1))
or_stop   = $(if $(filter 0,$(.SHELLSTATUS)),$(1),$(error $(1)))
UTS       = $(KDIR)/include/generated/utsrelease.h
KREL      = $(eval KREL := $$(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(UTS) 2>/dev/null))$(KREL)
OUT   = $(CURDIR)/build/kmod/$(KREL)

# W=, C=, CF=, V=, LLVM= … reach kbuild through MAKEFLAGS.
KBUILD_FLAGS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS)) $(if $(WERROR),KCFLAGS=-Werror)
KBUILD       = $(MAKE) $(KBUILD_FLAGS) -C $(KDIR)

FLOOR = tests/perf/floor

.PHONY: all
all: modules tools ## everything that is installed

.PHONY: modules
modules: ## the kernel modules, below build/kmod/RELEASE (KVER= KDIR= W=1 C=2 WERROR=1)
	@[[ -r "$(UTS)" ]] || \
		{ echo "no kernel build directory: '$(KDIR)'" >&2; exit 1; }
	@mkdir -p $(OUT)
	@find $(OUT) -xtype l -delete
	@cp -rsf $(CURDIR)/Kbuild $(CURDIR)/kmod $(OUT)/
	@scripts/probe $(KDIR) kmod/compat/probe $(OUT) $(if $(LLVM),LLVM=$(LLVM))
	$(KBUILD) M=$(OUT) modules
ifneq ($(wildcard $(FLOOR)/Kbuild),)
	@mkdir -p $(OUT)/floor
	@cp -rsf $(CURDIR)/$(FLOOR)/. $(OUT)/floor/
	@ln -sfn ../kmod $(OUT)/floor/kmod
	$(KBUILD) M=$(OUT)/floor modules
	@cp -u $(OUT)/floor/tally_floor.ko $(OUT)/
endif

# The headers of the newest kernels are beyond the sparse of Debian's releases.
SPARSE = $(shell ! grep -qs typeof_unqual $(KDIR)/include/linux/compiler_types.h || \
	echo CHECK=$(CURDIR)/scripts/sparse)

.PHONY: sparse
sparse: ## the modules under sparse; any warning is an error
	$(MAKE) modules C=2 CF=-Wsparse-error $(SPARSE)

.PHONY: tools
tools: ## tallyctl, tallybench and their pages, below build/user-release
	cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	cmake --build --preset release --parallel $(JOBS) --target tallyctl tallybench man-pages

.PHONY: test-programs
test-programs: tools ## what VM tests run beside the tools; not installed
	cmake --build --preset release --parallel $(JOBS) --target tally-torture tally-ioctl-fuzz
	tests/vm/stage

.PHONY: demo
demo: ## both experiments of 2018, in a virtual machine (installs what is missing)
	scripts/demo

.PHONY: check check-unit check-modules check-vm check-perf check-fuzz check-mutants
check: ## all tests (installs what is missing)
	scripts/deps
	scripts/check
check-unit: ## unit tests with address and thread sanitizer (scripts/check --long unit: plain, too)
	scripts/check unit
check-modules: ## builds without warnings for each kernel, sparse
	scripts/check modules
check-vm: ## tests in virtual machines, one boot per kernel
	scripts/check runner modules vm
check-perf: ## instructions per I/O against their limits
	scripts/check modules perf
check-fuzz: ## fuzzing of the readers of text, for a minute (tests/fuzz/run --seconds N: longer)
	scripts/check fuzz
check-mutants: ## are the tests of counting and drain able to fail? (4 minutes, not in check)
	cmake --preset release >/dev/null
	cmake --preset tsan >/dev/null
	tests/unit/mutants.py

.PHONY: debug-kernel race-kernel check-debug check-race check-long
debug-kernel: ## build the newest kernel with its checkers on (once; about 15 minutes)
	scripts/debug-kernel
race-kernel: ## the same with KCSAN
	scripts/debug-kernel --race
check-debug: ## fault injection, fuzzing, torture … on the debug kernel (builds it first)
	scripts/check debug
check-race: ## the VM tests that race, and torture, with KCSAN (builds its kernel first)
	scripts/check race
check-long: ## all lanes with all tests, on each kernel, and the debug kernel (hours)
	scripts/deps
	scripts/check --long

.PHONY: install
install: all ## modules, tools and udev rule (DESTDIR= PREFIX=)
	$(KBUILD) M=$(OUT) INSTALL_MOD_PATH=$(DESTDIR) \
		INSTALL_MOD_DIR=updates/blktally modules_install
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(KREL)
	DESTDIR=$(DESTDIR) cmake --install build/user-release --prefix $(PREFIX)

.PHONY: uninstall
uninstall: ## what install installed
	rm -rf $(DESTDIR)/lib/modules/$(KREL)/updates/blktally
	depmod $(if $(DESTDIR),-b $(DESTDIR)) $(KREL)
	if [[ -r build/user-release/install_manifest.txt ]]; then \
		sed 's|^|$(DESTDIR)|' build/user-release/install_manifest.txt | \
			xargs -r -d '\n' rm -f; \
	fi

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
		expand -t 16
