# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="loading and unloading modules, and the parameters of tally_ram"
LONG="load_unload_loop"
BEHIND_MQ="F02_ram_node_held_open F02_attribute_file_held_open"

test_load_unload_loop()
{
	local round
	for ((round = 0; round < 6; round++)); do
		load_module tally_core
		load_module tally_ram nr_devices=2 size_mb=1 profile=linux-5.0
		load_module tally_map
		load_module tally_gen
		same $'tram0\ntram1' "$(our_disks)" "round $round"
		same 600 "$(stat -c %a "$control")"
		settle
		unload_modules
		same '' "$(our_disks)" "round $round"
		not test -e "$control"
	done
	no_trace_left
}

test_modules_need_the_core()
{
	local name
	for name in tally_ram tally_map tally_gen; do
		refused 'Unknown symbol' load_module "$name"
	done
	load_module tally_core
	load_module tally_ram
	refused 'in use' rmmod tally_core
	refused 'File exists' load_module tally_ram
}

test_parameters_of_ram_disks()
{
	local disk
	load_module tally_core
	load_module tally_ram nr_devices=3 size_mb=2 backing=ram store=sparse \
		block_size=4096 completion=timer completion_ns=20000 \
		profile=linux-5.0 node=0 readonly=1
	same $'tram0\ntram1\ntram2' "$(our_disks)"
	for disk in tram0 tram1 tram2; do
		same 4096 "$(<"/sys/block/$disk/size")"
		same 4096 "$(<"/sys/block/$disk/queue/logical_block_size")"
		same 1 "$(<"/sys/block/$disk/ro")"
		same linux-5.0 "$(sysfs "$disk" profile)"
		same "$disk" "$(sysfs "$disk" name)"
	done
	matches 'ram sparse bio timer' "$(tallyctl ram list)"
	settle
	rmmod tally_ram

	load_module tally_ram nr_devices=1 size_mb=8388607 backing=null completion=softirq
	same tnull0 "$(our_disks)"
	same $((8388607 * 2048)) "$(</sys/block/tnull0/size)"
	same 512 "$(</sys/block/tnull0/queue/logical_block_size)"
	same 0 "$(</sys/block/tnull0/ro)"
	same none "$(sysfs tnull0 profile)"
	matches 'null bio softirq' "$(tallyctl ram list)"
	settle
	rmmod tally_ram

	load_module tally_ram # by default no disk
	same '' "$(our_disks)"
	no_trace_left
}

test_H01_block_sizes()
{
	local size
	load_module tally_core
	for size in 0 1 511 513 1536 4095 8192 65536 2147483648; do
		refuses "block.size.$size\>" nr_devices=1 size_mb=1 block_size=$size
	done
	for size in -1 4k 4294967296 '' 512x; do
		refuses "block_size" nr_devices=1 size_mb=1 "block_size=$size"
	done
	for size in 512 1024 2048 4096; do
		load_module tally_ram nr_devices=1 size_mb=1 block_size=$size
		same $size "$(</sys/block/tram0/queue/logical_block_size)"
		settle
		rmmod tally_ram
	done
	no_trace_left
}

test_unknown_words()
{
	local wrong quoted
	load_module tally_core
	for wrong in profile=linux-9.9 'profile=none ' profile=NONE backing=disk backing=Ram \
		store=thin completion=later completion=inlin; do
		quoted=$wrong # the kernel's parser parts words at blanks
		[[ $wrong != *' ' ]] || quoted="\"$wrong\""
		refuses "${wrong#*=}: no" nr_devices=1 size_mb=1 "$quoted"
	done
	refuses 'over 15 bytes' nr_devices=1 size_mb=1 backing=ramramramramramramram
	refuses 'over 31 bytes' nr_devices=1 size_mb=1 \
		profile=linux-5.0-linux-5.0-linux-5.0-linux-5.0
	# The second of two disks is refused as the first is: no half of them stays.
	refuses 'linux-9.9' nr_devices=2 size_mb=1 profile=linux-9.9
	refuses 'readonly' nr_devices=1 size_mb=1 readonly=maybe
	no_trace_left
}

test_sizes_beyond_all_bounds()
{
	load_module tally_core
	refuses 'size is 0' nr_devices=1 size_mb=0
	refuses '8589934592 sectors|4398046511104 bytes' nr_devices=1 size_mb=4194304
	refuses 'at most' nr_devices=1 backing=null size_mb=8796093022208
	refuses 'size_mb' nr_devices=1 backing=null size_mb=18446744073709551615
	refuses 'size_mb' nr_devices=1 size_mb=-1
	refuses 'size_mb' nr_devices=1 size_mb=1M
	refuses 'size_mb' nr_devices=1 size_mb=18446744073709551616
	no_trace_left
}

# The first disk fits, the second does not: the first goes, too.
test_failed_load_takes_its_disks_away()
{
	local size
	load_module tally_core
	size=$(awk '/^MemAvailable/ { print int($2 / 1024 * 0.6) }' /proc/meminfo)
	refuses 'disk 1: .*memory' nr_devices=2 size_mb="$size"
	refuses 'disk 1: .*memory' nr_devices=2 size_mb="$size" profile=linux-5.0
	no_trace_left
}

test_combinations_that_make_no_sense()
{
	load_module tally_core
	refuses 'completion_ns=5.*timer' nr_devices=1 size_mb=1 completion_ns=5
	refuses 'completion_ns=5.*timer' nr_devices=1 size_mb=1 completion_ns=5 \
		completion=softirq
	refuses 'completion_ns=10000000001.*10000000000' nr_devices=1 size_mb=1 \
		completion=timer completion_ns=10000000001
	refuses 'completion_ns' nr_devices=1 size_mb=1 completion=timer completion_ns=-1
	refuses 'store=flat.*null' nr_devices=1 size_mb=1 backing=null store=flat
	refuses 'node 99' nr_devices=1 size_mb=1 node=99
	refuses 'node -2' nr_devices=1 size_mb=1 node=-2
	refuses 'nr_devices' nr_devices=-1
	refuses 'nr_devices' nr_devices=x
	no_trace_left
}

test_F02_control_node_held_open()
{
	local fd
	load_module tally_core
	exec {fd}<>"$control"
	same 1 "$(references tally_core)"
	refused 'in use' rmmod tally_core
	loaded tally_core
	exec {fd}>&-
	rmmod tally_core
	not loaded tally_core
}

test_F02_ram_node_held_open()
{
	local fd
	load_module tally_core
	load_module tally_ram nr_devices=2 size_mb=1
	settle
	exec {fd}</dev/tram1
	refused 'in use' rmmod tally_ram
	refused 'in use' rmmod tally_core
	# It goes on working.
	same 512 "$(head -c 512 <&"$fd" | wc -c)"
	same $'tram0\ntram1' "$(our_disks)"
	exec {fd}<&-
	rmmod tally_ram
	rmmod tally_core
	no_trace_left
}

test_F02_attribute_file_held_open()
{
	local stat switch
	load_module tally_core
	load_module tally_ram nr_devices=1 size_mb=1
	exec {stat}</sys/block/tram0/tally/stat {switch}>/sys/block/tram0/tally/profile
	settle
	rmmod tally_ram
	refused 'No such device' cat <&"$stat"
	refused 'No such device' bash -c "echo none >&$switch"
	rmmod tally_core
	refused 'No such device' cat <&"$stat"
	exec {stat}<&- {switch}>&-
}
