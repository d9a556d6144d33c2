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
test_ram_set() { faults ram_set; }
test_ram_remove() { faults ram_remove; }
test_map_life() { faults map_life; }
test_table_load() { faults table_load; }
test_switches() { faults switches; }
test_generator() { faults generator; }
test_control_and_listings() { faults control_and_listings; }
test_module_load() { faults module_load; }
test_peers() { faults peers; }

# A time-out that the block layer fakes is one of requests; bio disks have none to lose, and are
# not to be asked.
test_G08_faked_time_outs()
{
	local disk dir=$debug/fail_io_timeout
	load_modules
	tallyctl ram add disk --size 1M --profile linux-5.0
	tallyctl create m --table "0 2048 linear $(dev_of disk) 0" --profile linux-6.10
	settle
	echo 100 >$dir/probability
	echo 1 >$dir/interval
	echo 10 >$dir/times
	for disk in m disk; do
		echo 1 >"/sys/block/$(disk_of $disk)/io-timeout-fail"
	done
	for disk in m disk; do
		dd if="/dev/blktally/$disk" of=/dev/null bs=4k count=20 iflag=direct status=none
		write_pattern "/dev/blktally/$disk" 1 0 65536
		check_pattern "/dev/blktally/$disk" 1 0 65536
		blkdiscard -f -l 65536 "/dev/blktally/m"
		same '0 0' "$(sysfs $disk inflight)"
	done
	same 10 "$(<$dir/times)" 'time-outs that are left'
	echo 0 >$dir/probability
	tallyctl suspend m # nothing is lost that it would wait for
	tallyctl resume m
}
