# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="a map's life: suspend, reload, remove, who holds what, switches under load"
LONG="depth_of_eight flips_from_two_processes_under_verified_io E03_shrink_with_io_queued_beyond_the_end suspend_killed_while_it_waits E01_switches_without_a_table N04_scan_while_a_map_is_made_over_it E10_onto_itself_at_any_depth F09_removed_while_traced"
BEHIND_MQ="counts_survive_flips F06_lower_is_taken_away F09_removed_while_traced
	N04_scan_while_a_map_is_made_over_it E03_shrink_with_io_queued_beyond_the_end"

# shellcheck source=tests/vm/maps.sh
. tests/vm/maps.sh

test_suspend_defers_and_loses_nothing()
{
	local m=/dev/blktally/m pids=() n
	ram a 4M
	map m a 0 8192
	tallyctl suspend m
	same true "$(info m suspended)"
	for n in 0 1 2 3; do
		write_pattern $m "$n" $((n * 65536)) 65536 &
		pids+=($!)
	done
	dd if=$m of="$tmp/read" bs=4k skip=64 count=1 iflag=direct status=none &
	wait_until asleep $!
	# Nothing has reached the disk, and nothing is in flight.
	same 0 "$(head -c 262144 "$(node_of a)" | tr -d '\0' | wc -c)"
	in_flight m '0 0'
	pattern 9 4096 | dd of="$(node_of a)" bs=4k seek=64 oflag=direct conv=notrunc status=none
	tallyctl resume m
	for n in "${pids[@]}" $!; do wait "$n"; done
	for n in 0 1 2 3; do
		check_pattern "$(node_of a)" "$n" $((n * 65536)) 65536
	done
	cmp "$tmp/read" <(pattern 9 4096) # it was read when it went, not before
}

test_E08_signals_while_suspended()
{
	local reader
	ram a 1M
	map m a 0 2048
	tallyctl suspend m
	"$tools/disk_io.py" read /dev/blktally/m 0 "$tmp/mark" >"$tmp/out" &
	reader=$!
	wait_until test -e "$tmp/mark"
	wait_until asleep $reader
	kill -USR1 $reader
	kill -STOP $reader
	kill -CONT $reader
	kill -USR1 $reader
	asleep $reader || fail "no longer waits: $(<"$tmp/out")"
	tallyctl resume m
	wait $reader
	matches '^4096 [12]$' "$(<"$tmp/out")"
}

# states SUSPENDED EVENTS
states() { same "$1 $2" "$(tallyctl info m --json | jq -r '.devices[0] | "\(.suspended) \(.events)"')"; }

test_E05_suspend_and_resume_are_idempotent()
{
	local n
	ram a 1M
	map m a 0 2048
	states false 1
	tallyctl resume m
	states false 1
	for n in 1 2; do tallyctl suspend m && states true 1; done
	for n in 1 2; do tallyctl resume m && states false 1; done
	for n in 1 2 3; do
		tallyctl suspend m & tallyctl suspend m
		wait $!
		states true 1
		tallyctl resume m & tallyctl resume m
		wait $!
		states false 1
	done
	write_pattern /dev/blktally/m 1 0 65536
	check_pattern "$(node_of a)" 1 0 65536
}

test_E01_any_order_without_a_table()
{
	ram a 1M
	load_module tally_map
	same 32 "$("$tools/orders.py" m "$(dev_of a)")"
	tallyctl create m --notable
	same 0 "$(blockdev --getsize64 /dev/blktally/m)"
	fails_with 1 'm has no table' tallyctl resume m
	same '' "$(tallyctl table m)$(tallyctl status m)"
	same $'0 dependencies\t:' "$(tallyctl deps m)"
	tallyctl suspend m
	tallyctl suspend m
	fails_with 1 'no table' tallyctl resume m
	same null:true "$(info m 'live_table // null'):$(info m suspended)"
	"$tools/orders.py" m "$(dev_of a)" race 2
	tallyctl remove m
	wait_until opened a 0
}

# Accounting is switched on a map that has no table, or is losing it.
test_E01_switches_without_a_table()
{
	local profile stop=$tmp/stop
	ram a 1M
	tallyctl create m --notable
	for profile in "${profiles[@]}"; do
		sysfs m profile "$profile"
		same "$profile" "$(sysfs m effective)"
		same '0 0' "$(sysfs m inflight)"
	done
	same 6 "$(sysfs m switches)"
	tallyctl suspend m
	tallyctl set m linux-5.0
	fails_with 1 'no table' tallyctl resume m
	sysfs m mode_ticks exact
	same custom "$(sysfs m profile)"
	# While another process loads, suspends, resumes and clears.
	flip m "$stop" "${profiles[@]}" &
	"$tools/orders.py" m "$(dev_of a)" race 3
	end_flips "$stop" 1
	in_flight m '0 0'
	reload m a 0 64
	write_pattern /dev/blktally/m 1 0 32768
	check_pattern "$(node_of a)" 1 0 32768
	settle
	tallyctl remove m
	wait_until opened a 0
}

# verify_with_fio NODE: random writes, verified as they go and at the end
verify_with_fio()
{
	fio --name=verify --filename="$1" --direct=1 --rw=randwrite \
		--bsrange=512-16k --size=3M --verify=crc32c --verify_backlog=32 --verify_fatal=1 \
		--ioengine=psync --thread --output-format=terse --output="$tmp/fio" \
		--randseed=7
}

test_reload_under_verified_io()
{
	local fio n=0
	ram a 8M --completion softirq
	map m a 1024 8192
	verify_with_fio /dev/blktally/m &
	fio=$!
	# The same sectors by other segments, so that each border moves.
	until ((n >= 8)) && ended $fio; do
		reload m a 1024 $((97 + n % 50))  a $((1024 + 97 + n % 50)) $((8192 - 97 - n % 50))
		n=$((n + 1))
	done
	wait $fio
	same $((n + 1)) "$(info m events)"
	in_flight m '0 0'
	same 1 "$(info a open_count)" # no lower of an old table is left open
}

test_E03_shrink_with_io_queued_beyond_the_end()
{
	local m=/dev/blktally/m stays write discard over
	ram a 2M
	map m a 0 4096
	exec 3<>$m
	tallyctl suspend m
	pattern 1 4096 >"$tmp/stays"
	dd if="$tmp/stays" of=$m bs=4k oflag=direct conv=notrunc status=none &
	stays=$!
	dd if=/dev/urandom of=$m bs=4k seek=511 count=1 oflag=direct conv=notrunc 2>"$tmp/beyond" &
	write=$!
	dd if=/dev/urandom of=$m bs=8k seek=127 count=1 oflag=direct conv=notrunc 2>"$tmp/over" &
	over=$!
	"$tools/disk_io.py" discard $m 1572864 65536 >"$tmp/discard" &
	discard=$!
	wait_until asleep $stays
	wait_until asleep $write
	wait_until asleep $over
	wait_until asleep $discard
	reload m a 0 2040 # 4 KiB in the middle of the third write
	wait $stays
	not wait $write
	not wait $over
	wait $discard
	matches 'Input/output error' "$(<"$tmp/beyond")"
	matches 'Input/output error' "$(<"$tmp/over")"
	same EIO "$(<"$tmp/discard")"
	exec 3>&-
	check_pattern $m 1 0 4096
	same 0 "$(tail -c +1040385 "$(node_of a)" | tr -d '\0' | wc -c)" # nothing reached it
	in_flight m '0 0'
	reload m a 0 4096
	write_pattern $m 2 1572864 65536
}

test_remove_refused_while_busy()
{
	local m=/dev/blktally/m
	ram a 8M
	map m a 0 16384
	exec 3<$m
	fails_with 1 'm is open' tallyctl remove m
	exec 3<&-
	mkfs.ext4 -q $m
	mount "$(readlink -f $m)" "$(mkdir "$tmp/mnt" && echo "$tmp/mnt")"
	echo text >"$tmp/mnt/file"
	fails_with 1 'm is open' tallyctl remove m
	same text "$(<"$tmp/mnt/file")"
	umount "$tmp/mnt"
	settle
	map upper m 0 16384
	fails_with 1 'm is open' tallyctl remove m
	same "$(linear a 0 16384)" "$(tallyctl table m)"
	# A map that is only in somebody's inactive table is held as well.
	load upper a 0 16384
	tallyctl remove upper
	tallyctl create upper --notable
	load upper m 0 16384
	fails_with 1 'm is open' tallyctl remove m
	e2fsck -fn $m >"$tmp/fsck" 2>&1
	tallyctl remove upper
	tallyctl remove m
	wait_until opened a 0
}

test_remove_with_io_just_ended()
{
	local n
	ram a 1M --completion timer --completion-ns 200000
	for n in 1 2 3 4 5; do
		map m a 0 2048
		dd if=/dev/blktally/m of=/dev/null bs=4k count=8 iflag=direct status=none
		tallyctl remove m
	done
	wait_until opened a 0
	same 0 "$(references tally_map)"
}

test_foreign_holders_and_ours()
{
	local node
	modprobe dm-mod
	ram a 8M
	node=$(node_of a)
	mkfs.ext4 -q "$node"
	mkdir "$tmp/mnt"
	mount "$node" "$tmp/mnt"
	fails_with 1 'held by somebody else, or mounted' map m a 0 8
	umount "$tmp/mnt"
	dmsetup create foreign --table "0 16384 linear $node 0"
	fails_with 1 'held by somebody else, or mounted' map m a 0 8
	settle
	dmsetup remove foreign
	no_such_link m

	map m a 0 16384
	refused 'busy|already mounted' mount "$node" "$tmp/mnt"
	refused 'busy' dmsetup create foreign --table "0 16384 linear $node 0"
	[[ ! -e /dev/mapper/foreign ]]
	refused 'busy' blkdiscard "$node"
	# In the inactive table as in the live one.
	tallyctl remove m
	tallyctl create m --notable
	load m a 0 16384
	refused 'busy|already mounted' mount "$node" "$tmp/mnt"
	tallyctl clear m
	wait_until opened a 0
	mount "$node" "$tmp/mnt"
	umount "$tmp/mnt"
}

no_such_link() { [[ ! -L /dev/blktally/$1 && ! -e /dev/blktally/$1 ]] || fail "/dev/blktally/$1 is there"; }

test_two_maps_share_a_disk()
{
	ram a 2M
	map m a 0 2048
	map n a 2048 2048
	load m a 0 1024 # and an inactive table
	write_pattern /dev/blktally/m 1 0 1048576
	write_pattern /dev/blktally/n 2 0 1048576
	check_pattern "$(node_of a)" 1 0 1048576
	check_pattern "$(node_of a)" 2 1048576 1048576
	fails_with 1 'a is open' tallyctl ram remove a
	tallyctl remove m
	check_pattern /dev/blktally/n 2 0 1048576
	fails_with 1 'a is open' tallyctl ram remove a
	refused 'busy' blkdiscard "$(node_of a)"
	tallyctl remove n
	wait_until opened a 0
	blkdiscard -f "$(node_of a)"
}

# The disk below goes by force: what is above fails its I/O, and can be removed.
test_F06_lower_is_taken_away()
{
	local m=/dev/blktally/m table
	ram a 2M --completion softirq
	ram b 1M
	map m a 0 2048  b 0 2048
	map up m 0 4096
	tallyctl set m linux-6.10
	table=$(tallyctl table m)
	write_pattern /dev/blktally/up 1 0 2097152
	(
		set +E
		while dd if=/dev/zero of=/dev/blktally/up bs=4k count=64 oflag=direct conv=notrunc \
			status=none; do :; done 2>"$tmp/writer"
	) &
	wait_until busy m
	tallyctl ram remove -f a
	wait
	matches 'Input/output error|No such device' "$(<"$tmp/writer")"
	in_flight m '0 0'
	same "$table" "$(tallyctl table m)"
	refused 'Input/output error|No such device' \
		dd if=$m of=/dev/null bs=4k count=1 iflag=direct
	refused 'Input/output error|No such device' \
		dd if=/dev/zero of=/dev/blktally/up bs=4k count=1 oflag=direct conv=notrunc
	cmp <(pattern 1 2097152 | tail -c 1048576) \
		<(dd if=$m bs=64k skip=16 iflag=direct status=none) # the other leg is there
	tallyctl suspend m
	tallyctl resume m
	# Its name is free, its data are gone, and a table of the new disk works.
	ram a 2M
	fails_with 1 'm is open' tallyctl remove m
	settle
	tallyctl remove up
	settle
	reload m a 0 4096
	write_pattern $m 2 0 2097152
	check_pattern "$(node_of a)" 2 0 2097152
	settle
	tallyctl remove m
	tallyctl ram remove a
	tallyctl ram remove b
	no_trace_left
}

busy() { (($(writes "$1") > 100)); }

# Traced when they go, and made again under the same name: nothing stays behind
# for the next of the name to fall over (the log says so if it does).
test_F09_removed_while_traced()
{
	local debug=/sys/kernel/debug
	[[ -d $debug/block ]] || mount -t debugfs debugfs $debug
	load_modules
	without_udevd
	python <<-'END'
		import errno
		from blktally import *
		SETUP, START = 0xC0481273, 0x1274
		DEBUG = "/sys/kernel/debug/block"
		control = Control()
		def trace(disk):
		    fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
		    setup = bytearray(struct.pack("<32sHxxIIxxxxQQIxxxx", b"", 0xFFFF, 4096, 2, 0, 0, 0))
		    try:
		        fcntl.ioctl(fd, SETUP, setup)
		    except OSError as e:
		        assert e.errno == errno.ENOTTY, e
		        print("the kernel traces no block devices")
		        raise SystemExit(77)
		    fcntl.ioctl(fd, START, 0)
		    os.preadv(fd, [direct_buffer(4096)], 0)
		    os.pwritev(fd, [direct_buffer(4096)], 0)
		    os.close(fd)
		    assert os.path.exists(f"{DEBUG}/{disk.name}/trace0"), f"{disk.name} is not traced"
		for n in range(50):
		    low = Disk.add(control, name="low")
		    up = Disk.map(control, "up", f"0 2048 linear {low.number()} 0\n", "linux-5.0")
		    same(("tram0", "tmap0"), (low.name, up.name), f"round {n}")
		    for disk in (up, low):
		        trace(disk)
		    control.must("MAP_REMOVE", ref("up"))
		    wait_until(lambda: control.call("RAM_REMOVE", ref("low"))[0] == 0, "removal")
		    for disk in (up, low):
		        wait_until(lambda: not os.path.exists(f"{DEBUG}/{disk.name}"), f"{disk.name} leaves debugfs")
	END
	no_trace_left
}

# A scan for partitions holds the lower's lock while its I/O takes long, or waits
# for a resume; a map that is made over it meanwhile waits, and both end.
test_N04_scan_while_a_map_is_made_over_it()
{
	local scan maker slow
	ram slow 32K --completion timer --completion-ns 1500000000
	slow=$(node_of slow)
	settle
	blockdev --rereadpt "$slow" 2>"$tmp/scan" &
	scan=$!
	map m slow 0 64 &
	maker=$!
	wait $maker
	wait $scan || matches 'busy' "$(<"$tmp/scan")" # who came first

	# The kernel scans what lies behind a suspended map.
	local loop
	modprobe loop
	settle
	loop=$(losetup -P --show -f "$(node_of m)")
	settle
	blockdev --flushbufs "$loop"
	blockdev --flushbufs "$(node_of m)"
	tallyctl suspend m
	blockdev --rereadpt "$loop" &
	scan=$!
	wait_until asleep $scan
	tallyctl create up --notable
	load up m 0 8 & # m is held open, and its I/O deferred
	maker=$!
	tallyctl info up >/dev/null
	tallyctl resume m
	wait $maker
	wait $scan
	tallyctl resume up
	losetup -d "$loop"
	settle
	tallyctl remove up
	wait_until opened m 0
	tallyctl remove m
	wait_until opened slow 0
}

# loop_refused NAME LOWER: and both tables, and I/O, are as before
loop_refused()
{
	local table
	table=$(tallyctl table "$1")
	fails_with 1 "$1 would map onto itself" load "$1" "$2" 0 8
	same "$table" "$(tallyctl table "$1")"
	same '' "$(tallyctl table "$1" --inactive)"
	[[ ! $table ]] || dd if="/dev/blktally/$1" of=/dev/null count=1 iflag=direct status=none
}

test_E10_onto_itself_at_any_depth()
{
	ram r 1M
	map a r 0 2048
	loop_refused a a
	map b a 0 2048
	loop_refused a b
	map c b 0 2048
	loop_refused a c
	loop_refused b c
	fails_with 1 'a would map onto itself' load a r 0 8  c 0 8

	# Through an inactive table: none of both may be loaded second.
	tallyctl create x --notable
	tallyctl create y --notable
	fails_with 1 'device [0-9:]+ has 0' load x x 0 8
	reload x r 0 64
	loop_refused x x
	reload y r 0 64
	load y x 0 8
	loop_refused x y
	tallyctl clear y
	load x a 0 8
	reload y x 0 8
	fails_with 1 'a would map onto itself' load a y 0 8
	tallyctl resume x
	dd if=/dev/blktally/c of=/dev/null count=1 iflag=direct status=none
	dd if=/dev/blktally/y of=/dev/null count=1 iflag=direct status=none
}

test_depth_of_eight()
{
	local n below=r
	ram r 1M
	for n in 1 2 3 4 5 6 7 8; do
		map "m$n" "$below" 1 $((2048 - n))
		below=m$n
	done
	fails_with 1 'm9: maps would lie 9 deep, at most 8' map m9 m8 1 8
	no_such_link m9
	# From below, too.
	tallyctl create m0 --notable
	reload m0 r 0 2048
	fails_with 1 'at most 8' load m1 m0 1 2047
	tallyctl set m8 linux-5.0
	write_pattern /dev/blktally/m8 1 0 524288
	check_pattern "$(node_of r)" 1 4096 524288
	same 0 "$(reads m7)"
	(($(writes m8) > 0))
}

# suspend_killed_by SIGNAL: while it waits for a read that takes seconds. A shell
# without job control starts its jobs deaf to SIGINT, hence env.
suspend_killed_by()
{
	local m=/dev/blktally/m slow suspend later
	dd if=$m of="$tmp/read" bs=4k count=1 iflag=direct status=none &
	slow=$!
	wait_until in_flight m '1 0'
	env --default-signal=INT "$bin/tallyctl/tallyctl" suspend m &
	suspend=$!
	wait_until asleep $suspend
	# Submitted while it waits: deferred, and goes on with the device.
	dd if=$m of="$tmp/later" bs=4k skip=1 count=1 iflag=direct status=none &
	later=$!
	wait_until asleep $later
	in_flight m '1 0'
	kill -"$1" $suspend
	not wait $suspend
	same false "$(info m suspended)"
	wait $slow
	wait $later
	cmp "$tmp/read" <(pattern 1 4096)
	cmp "$tmp/later" <(pattern 2 4096)
	in_flight m '0 0'
}

test_suspend_killed_while_it_waits()
{
	ram a 1M --completion timer --completion-ns 4000000000
	map m a 0 2048
	tallyctl set m linux-4.20
	write_pattern /dev/blktally/m 1 0 4096 & write_pattern /dev/blktally/m 2 4096 4096
	wait $!
	suspend_killed_by KILL
	suspend_killed_by INT
	tallyctl suspend m
	tallyctl resume m
}

test_flips_from_two_processes_under_verified_io()
{
	local stop=$tmp/stop flips
	ram a 8M --completion softirq
	map m a 64 3001  a 9000 7000
	flip m "$stop" "${profiles[@]}" &
	flip m "$stop" native linux-6.10 linux-5.18 linux-5.0 percpu-v1 linux-4.20 none &
	verify_with_fio /dev/blktally/m
	end_flips "$stop" 2
	flips=$(cat "$stop".* | awk '{ n += $1 } END { print n }')
	((flips > 100)) || fail "only $flips flips"
	# One that changes nothing does not count as a switch.
	(($(sysfs m switches) > 100)) || fail "$(sysfs m switches) switches of $flips"
	in_flight m '0 0'
	same none "$(echo none >"/sys/block/$(disk_of m)/tally/profile" && sysfs m profile)"
}

test_counts_survive_flips()
{
	local stop=$tmp/stop m=/dev/blktally/m
	ram a 8M --completion softirq
	map m a 0 16384
	tallyctl set m linux-5.0
	flip m "$stop" linux-4.20 native percpu-v1 linux-5.0 linux-5.18 linux-6.10 &
	flip m "$stop" linux-6.10 linux-5.18 linux-5.0 percpu-v1 native linux-4.20 &
	settle # udevd reads, too: when it is there, and after whoever wrote
	local reads writes
	reads=$(reads m) writes=$(writes m)
	dd if=$m of=/dev/null bs=4k count=400 iflag=direct status=none
	same $((reads + 400)) "$(reads m)" reads
	dd if=/dev/zero of=$m bs=4k count=500 oflag=direct conv=notrunc status=none
	end_flips "$stop" 2
	in_flight m '0 0'
	same $((writes + 500)) "$(writes m)" writes
	(($(sysfs m switches) > 50)) || fail "only $(sysfs m switches) switches"
}

test_ext4_round_trip_under_flips()
{
	local stop=$tmp/stop m=/dev/blktally/m
	ram a 24M
	map m a 0 20001  a 20001 29000
	flip m "$stop" "${profiles[@]}" &
	mkfs.ext4 -q $m
	mkdir "$tmp/mnt"
	mount "$(readlink -f $m)" "$tmp/mnt"
	tar -C . -cf "$tmp/tree.tar" kmod tests
	tar -C "$tmp/mnt" -xf "$tmp/tree.tar"
	umount "$tmp/mnt"
	e2fsck -fn $m >"$tmp/fsck" 2>&1
	mount "$(readlink -f $m)" "$tmp/mnt"
	tar -C "$tmp/mnt" --compare -f "$tmp/tree.tar"
	umount "$tmp/mnt"
	end_flips "$stop" 1
	in_flight m '0 0'
}
