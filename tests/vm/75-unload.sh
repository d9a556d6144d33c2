# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="modules under maps: kept while in use, loaded and unloaded again"
LONG="unload_refused_under_load"
BEHIND_MQ="F02_held_open tally_ram_stays_while_its_disk_is_a_lower"

# shellcheck source=tests/vm/maps.sh
. tests/vm/maps.sh

test_tally_map_stays_while_a_map_exists()
{
	tallyctl create m --notable
	refused 'in use' rmmod tally_map
	ram a 1M
	map n a 0 2048
	refused 'in use' rmmod tally_map
	refused 'in use' rmmod tally_core
	tallyctl remove m
	refused 'in use' rmmod tally_map
	write_pattern /dev/blktally/n 1 0 65536
	check_pattern "$(node_of a)" 1 0 65536
	tallyctl remove n
	same 0 "$(references tally_map)"
	rmmod tally_map
}

test_tally_ram_stays_while_its_disk_is_a_lower()
{
	ram a 1M
	map m a 0 2048
	write_pattern /dev/blktally/m 1 0 1048576
	refused 'in use' rmmod tally_ram
	check_pattern /dev/blktally/m 1 0 1048576
	# An inactive table holds it just as well.
	tallyctl remove m
	tallyctl create m --notable
	load m a 0 2048
	refused 'in use' rmmod tally_ram
	tallyctl clear m
	wait_until opened a 0
	check_pattern "$(node_of a)" 1 0 1048576
	settle
	rmmod tally_ram
	same tmap0 "$(our_disks)"
}

test_unload_refused_under_load()
{
	local load n module
	ram a 4M --completion softirq
	map m a 0 8192
	tallyctl set m linux-4.20
	tallyctl set a linux-5.0
	dd if=/dev/zero of=/dev/blktally/m bs=4k oflag=direct conv=notrunc status=none \
		count=1024 seek=0 &
	load=$!
	for n in 1 2 3; do
		for module in tally_map tally_ram tally_core; do
			refused 'in use' rmmod $module
		done
	done
	wait $load
	in_flight m '0 0'
	same 1024 "$(writes m)"
	tallyctl remove m
	settle
	tallyctl ram remove a
	unload_modules
}

test_load_again_works()
{
	local n
	for n in 1 2 3; do
		load_module tally_core
		load_module tally_map
		load_module tally_ram nr_devices=1 size_mb=1
		settle
		map m tram0 0 2048
		write_pattern /dev/blktally/m "$n" 0 65536
		check_pattern /dev/tram0 "$n" 0 65536
		tallyctl remove m
		settle
		unload_modules
		not loaded tally_core
		[[ ! -e $control ]]
	done
}

test_F02_held_open()
{
	local node
	ram a 1M
	map m a 0 2048
	node=$(node_of m)
	exec 3<"$node"
	refused 'in use' rmmod tally_map
	fails_with 1 'm is open' tallyctl remove m
	exec 3<&-
	# An attribute file does not hold the module.
	exec 4<"/sys/block/$(disk_of m)/tally/stat"
	read -r _ <&4
	wait_until opened m 0
	tallyctl remove m
	rmmod tally_map
	refused 'No such device' cat <&4
	exec 4<&-
	exec 5<"$control"
	refused 'in use' rmmod tally_core
	exec 5<&-
}
