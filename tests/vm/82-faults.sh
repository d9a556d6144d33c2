# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="each allocation of each operation fails once: an error, and nothing else"
TIME_LIMIT=400

debug=/sys/kernel/debug

requires()
{
	local file
	mountpoint -q $debug || mount -t debugfs none $debug
	for file in /proc/self/fail-nth $debug/fail{slab,_page_alloc}/reject-start $debug/kmemleak; do
		[[ -e $file ]] ||
			{ echo "the kernel injects no faults, or finds no leaks: no $file" >&2; return 1; }
	done
}

# faults GROUP: see there
faults()
{
	load_modules
	without_udevd # who looks at a disk holds it
	KMOD=$kmod /usr/bin/python3 -BS tests/vm/tools/faults.py "$1"
}

test_ram_add() { faults ram_add; }
test_ram_remove() { faults ram_remove; }
test_map_life() { faults map_life; }
test_table_load() { faults table_load; }
test_switches() { faults switches; }
test_generator() { faults generator; }
test_control_and_listings() { faults control_and_listings; }
test_module_load() { faults module_load; }
test_peers() { faults peers; }
