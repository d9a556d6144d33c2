# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="linear: where the data go, borders, discard, flush, sizes"
LONG="discard_loop_under_flips_and_suspends L04_nowait_while_tables_and_modes_change.mq
	A11_discards_over_all_legs_count_once.mq"
BEHIND_MQ="A11_discards_over_all_legs_count_once I06_no_stale_cache_after_discard
	flush_without_a_cache_below J02_discard_and_write_zeroes J04_odd_vectors
	K04_mkfs_finds_nothing_odd nowait L04_nowait_while_tables_and_modes_change
	L05_polled_io_without_poll_queues"

# shellcheck source=tests/vm/maps.sh
. tests/vm/maps.sh

# Five segments of odd lengths over two disks, neither in their order.
segments=(a 8 7  b 100 1  a 300 129  b 1 64  a 16 200)

test_one_segment()
{
	ram a 4M
	echo "0 4096 linear $(node_of a) 64" | tallyctl create m
	same 4096 "$(cat "/sys/block/$(disk_of m)/size")"
	write_pattern /dev/blktally/m 1 0 2097152
	check_pattern "$(node_of a)" 1 32768 2097152
	write_pattern "$(node_of a)" 2 32768 1048576
	check_pattern /dev/blktally/m 2 0 1048576
	# Neither before nor behind.
	same 0 "$(head -c 32768 "$(node_of a)" | tr -d '\0' | wc -c)"
	same 0 "$(tail -c +2129921 "$(node_of a)" | tr -d '\0' | wc -c)"
	tallyctl remove m
	check_pattern "$(node_of a)" 2 32768 1048576
	no_trace_left_but a
}

# no_trace_left_but RAM: the map is gone, and so is the claim on the disk
no_trace_left_but()
{
	settle
	same "$(disk_of "$1")" "$(our_disks)"
	same 0 "$(references tally_map)"
	wait_until opened "$1" 0
	tallyctl ram remove "$1"
	no_trace_left
}

test_extents_over_several_segments()
{
	ram a 1M
	ram b 1M --store sparse --completion softirq
	map m "${segments[@]}"
	linear "${segments[@]}" | "$tools/disk_io.py" extents /dev/blktally/m 1 200
}

test_over_brd_loop_and_partitions()
{
	local loop disk
	modprobe brd rd_nr=1 rd_size=1024
	modprobe loop
	truncate -s 1M "$tmp/file"
	loop=$(losetup --show -f "$tmp/file")
	ram a 4M
	disk=$(node_of a)
	addpart "$disk" 1 64 1000
	addpart "$disk" 2 1064 777
	wait_until test -b "${disk}p2"
	local parts=("${disk}p2" 7 300  /dev/ram0 9 33  "$loop" 5 101  "${disk}p1" 1 500)
	map m "${parts[@]}"
	tallyctl table m | "$tools/disk_io.py" extents /dev/blktally/m 2 60
	# Below the partition it lies where the partition does.
	cmp <(dd if=/dev/blktally/m bs=512 count=300 iflag=direct status=none) \
		<(dd if="$disk" bs=512 skip=1071 count=300 iflag=direct status=none)
	# A run beyond the partition, but on the disk.
	fails_with 1 'device [0-9]+:[0-9]+ has 777' map n "${disk}p2" 700 78
	tallyctl remove m
	losetup -d "$loop"
	settle
	rmmod brd
}

test_J04_odd_vectors()
{
	ram a 1M
	ram b 1M
	map m "${segments[@]}"
	linear "${segments[@]}" | "$tools/disk_io.py" vectors /dev/blktally/m 3
}

test_J02_discard_and_write_zeroes()
{
	ram a 1M
	ram b 1M --store sparse
	map m "${segments[@]}"
	linear "${segments[@]}" | "$tools/disk_io.py" zeroing /dev/blktally/m 4
}

test_I06_no_stale_cache_after_discard()
{
	local node
	ram a 2M
	map m a 0 2048  a 2048 2048
	for node in "$(node_of m)" "$(node_of a)"; do
		pattern 5 2097152 >"$node" # dirty in the page cache
		exec 3<"$node" # keeps the cache
		"$tools/disk_io.py" discard "$node" 0 2097152 >"$tmp/discard"
		same 'done' "$(<"$tmp/discard")"
		same 0 "$(tr -d '\0' <"$node" | wc -c)" "buffered, $node"
		same 0 "$(dd if="$node" bs=64k iflag=direct status=none | tr -d '\0' | wc -c)" \
			"direct, $node"
		exec 3<&-
		settle
		[[ $node != *tmap* ]] || tallyctl remove m # which holds the other
	done
}

# Chained bios: each parent ends after children that may be deferred.
test_discard_loop_under_flips_and_suspends()
{
	local node=/dev/blktally/m stop=$tmp/stop n
	ram a 8M --completion softirq
	map m a 0 4000  a 5000 3000  a 12000 1000
	flip m "$stop" "${profiles[@]}" &
	(
		set +E
		until [[ -e $stop ]]; do
			blkdiscard "$node" || exit
			blkdiscard -z -o 512 -l 3072000 "$node" || exit
		done
		touch "$tmp/discards-went-well"
	) &
	for n in {1..8}; do
		tallyctl suspend m
		tallyctl resume m
	done
	end_flips "$stop" 1
	[[ -e $tmp/discards-went-well ]]
	in_flight m '0 0'
	(($(sysfs m switches) >= 7)) || fail "few switches: $(sysfs m switches)"
}

# Each is one I/O of the map, and one of each leg, whatever counts it. Four maps
# share the legs: discards of one device come one after the other.
test_A11_discards_over_all_legs_count_once()
{
	load_modules
	without_udevd # it reads what somebody has written to
	python <<-'END'
		import threading
		from blktally import *
		LEGS, MAPS, DISCARDS, LENGTH = 8, 4, 100, 64
		control = Control()
		legs = [Disk.add(control, name=f"leg{i}", sectors=LENGTH * MAPS, completion="softirq")
		        for i in range(LEGS)]
		for leg in legs:
		    leg.write("queue/nomerges", "2")  # behind blk-mq, those of two maps side by side
		maps = [Disk.map(control, f"m{n}", "".join(
		    f"{i * LENGTH} {LENGTH} linear {leg.number()} {n * LENGTH}\n" for i, leg in enumerate(legs)))
		        for n in range(MAPS)]
		settle()
		errors = []
		def discard(disk):
		    fd = os.open(disk.node, os.O_RDWR)
		    errors.extend(block_range(fd, BLKDISCARD, 0, LEGS * LENGTH * 512) for _ in range(DISCARDS))
		    os.close(fd)
		settings = [dict(profile=p) for p in PROFILES[1:]] + [
		    dict(profile="none", inflight="pernode", ticks="exact", clock="ns")]
		for setting in settings:
		    for n in range(MAPS):
		        control.must("SET", set_modes(f"m{n}", **setting))
		    for i in range(LEGS):
		        control.must("SET", set_modes(f"leg{i}", **setting))
		    before = {disk: disk.stat() for disk in legs + maps}
		    threads = [threading.Thread(target=discard, args=(disk,)) for disk in maps]
		    for thread in threads: thread.start()
		    for thread in threads: thread.join()
		    same([0] * MAPS * DISCARDS, errors)
		    errors.clear()
		    for disk in legs + maps:
		        what = f"{disk.name} under {setting}"
		        wait_until(lambda: disk.inflight() == "0 0", what)
		        grown = [now - then for then, now in zip(before[disk], disk.stat())]
		        count, sectors = (MAPS * DISCARDS, LENGTH) if disk in legs else (DISCARDS, LEGS * LENGTH)
		        same([0, 0, 0, 0], grown[:3] + grown[4:5], f"reads and writes of {what}")
		        same([count, 0, count * sectors], grown[11:14], f"discards of {what}")
	END
}

# nullb N: /dev/nullbN of 16 MiB with a volatile cache
nullb()
{
	local dir=/sys/kernel/config/nullb/nullb$1
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir "$dir"
	echo 16 >"$dir/size"
	echo 512 >"$dir/blocksize"
	echo 1 >"$dir/memory_backed"
	echo 1 >"$dir/cache_size"
	echo 1 >"$dir/power"
	wait_until test -b "/dev/nullb$1"
}

no_nullb()
{
	rmdir /sys/kernel/config/nullb/nullb*
	rmmod null_blk
}

# flushes N: how many reached /dev/nullbN
flushes() { awk '{ print $16 }' "/sys/block/nullb$1/stat"; }

# each_flushed N...: exactly one more flush since the last call, on each
each_flushed()
{
	local n
	for n; do
		same "$((was[n] + 1))" "$(flushes "$n")" "flushes of nullb$n $why"
	done
	remember "$@"
}

remember()
{
	local n
	for n; do
		was[n]=$(flushes "$n")
	done
}

test_I08_flush_reaches_each_lower_once()
{
	local was=() why='' m=/dev/blktally/m n mount=$tmp/mount
	modprobe null_blk nr_devices=0
	for n in 0 1 2; do nullb "$n"; done

	map m /dev/nullb0 0 8192  /dev/nullb1 0 8192  /dev/nullb2 0 8192
	same 'write back' "$(<"/sys/block/$(disk_of m)/queue/write_cache")"
	why='after an empty flush' && remember 0 1 2
	sync "$m" # fsync
	each_flushed 0 1 2
	why='after a write and fsync'
	dd if=/dev/urandom of="$m" bs=4k count=4 conv=fsync,notrunc status=none
	each_flushed 0 1 2
	# O_DSYNC: a write with FUA, which is its own, and an empty flush.
	why='after O_DSYNC'
	"$tools/disk_io.py" dsync "$m" 6291456
	each_flushed 0 1 2
	tallyctl remove m

	# Three segments over two disks: two flushes, not three.
	map m /dev/nullb0 0 8192  /dev/nullb1 0 16384  /dev/nullb0 8192 8192
	why='of two disks' && remember 0 1
	sync "$m"
	each_flushed 0 1

	# The journal's commit is one bio: PREFLUSH, data, FUA.
	why='after a commit'
	mkdir "$mount"
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$m"
	mount -o commit=300 "$m" "$mount"
	sync -f "$mount"
	remember 0 1 2
	echo text >"$mount/file"
	sync "$mount/file"
	each_flushed 0 1
	same "${was[2]}" "$(flushes 2)"
	umount "$mount"
	e2fsck -fn "$m" >"$tmp/fsck" 2>&1
	tallyctl remove m

	# One disk: passed through.
	map m /dev/nullb2 0 8192  /dev/nullb2 8192 8192
	why='of one disk' && remember 2
	sync "$m"
	each_flushed 2
	tallyctl remove m
	no_nullb
}

test_I08_failing_lower_fails_the_flush()
{
	local was=() why='beside a failed one'
	modprobe null_blk nr_devices=0
	nullb 0
	nullb 1
	map m /dev/nullb0 0 8192  /dev/nullb1 0 8192
	sync /dev/blktally/m
	remember 1
	exec 3<>/dev/blktally/m # no size is read again
	echo 0 >/sys/kernel/config/nullb/nullb0/power
	refused 'Input/output error' sync /dev/blktally/m
	each_flushed 1
	exec 3>&-
	tallyctl remove m
	no_nullb
}

test_flush_without_a_cache_below()
{
	ram a 1M
	ram b 1M
	map m a 0 1024  b 0 1024
	same 'write through' "$(<"/sys/block/$(disk_of m)/queue/write_cache")"
	dd if=/dev/urandom of=/dev/blktally/m bs=4k count=200 conv=fsync,notrunc status=none
}

test_nowait()
{
	local m=/dev/blktally/m
	ram a 1M
	map m a 0 9  a 9 1000
	# The last is over a border.
	same $'4096\n4096\n8192' "$("$tools/disk_io.py" nowait $m read 8192 4096 \
		write 8192 4096  write 0 8192)"
	tallyctl suspend m
	same $'EAGAIN\nEAGAIN' "$("$tools/disk_io.py" nowait $m read 8192 4096  write 0 8192)"
	tallyctl resume m
	same 4096 "$("$tools/disk_io.py" nowait $m read 0 4096)"
	in_flight m '0 0'
}

# Reads and writes that may not wait, while tables and modes come and go on both.
test_L04_nowait_while_tables_and_modes_change()
{
	load_modules
	python <<-'END'
		import errno, threading
		from blktally import *
		control = Control()
		low = Disk.add(control, name="low", sectors=4096, completion="softirq")
		tables = ["0 2048 linear {0} 0\n", "0 9 linear {0} 0\n9 1000 linear {0} 9\n1009 1039 linear {0} 1009\n"]
		tables = [table.format(low.number()) for table in tables]
		up = Disk.map(control, "up", tables[0])
		settle()
		failed = []
		over = False
		def change():
		    global over
		    mine = Control()
		    try:
		        for n in range(40): # seconds each on the debug kernel
		            mine.load("up", tables[n % 2])
		            mine.must("MAP_SUSPEND", ref("up"))
		            mine.must("MAP_RESUME", ref("up"))
		            for name in ("up", "low"):
		                mine.must("SET", set_modes(name, PROFILES[n % len(PROFILES)]))
		    except BaseException as e:
		        failed.append(e)
		    over = True
		thread = threading.Thread(target=change)
		thread.start()
		fds = {disk: os.open(disk.node, os.O_RDWR | os.O_DIRECT) for disk in (low, up)}
		buffer = direct_buffer(8192)
		seen = {}
		while not over:
		    for disk, fd in fds.items():
		        for call in (os.preadv, os.pwritev):
		            try:
		                result = call(fd, [buffer], 0, os.RWF_NOWAIT)
		            except OSError as e:
		                result = errno.errorcode[e.errno]
		            key = disk.name, call.__name__, result
		            seen[key] = seen.get(key, 0) + 1
		thread.join()
		assert not failed, failed
		print(seen)
		for disk, call, result in seen:
		    # Over a border the first part may have gone through.
		    assert result in (8192, 4608, "EAGAIN"), seen
		for disk in fds:
		    for call in ("preadv", "pwritev"):
		        assert seen.get((disk.name, call, 8192)), seen
		    same("0 0", disk.inflight())
	END
}

# No disk of ours has queues to poll: at once, or not at all.
test_L05_polled_io_without_poll_queues()
{
	load_modules
	python <<-'END'
		from blktally import *
		from uring import Uring
		control = Control()
		low = Disk.add(control, name="low", sectors=4096, completion="timer", completion_ns=10**6)
		up = Disk.map(control, "up", f"0 9 linear {low.number()} 0\n9 2039 linear {low.number()} 9\n")
		polled = Disk.add(control, name="polled", queue="mq", poll_queues=1)
		over = Disk.map(control, "over", f"0 2048 linear {polled.number()} 0\n")
		settle()
		# Asked for by who waits anyway, which takes no notice, and by io_uring, which does.
		for disk in (low, up, over):
		    ring = Uring(disk.node)
		    begun = time.monotonic()
		    ring.submit()
		    result = ring.reap(1)[0]
		    print(f"{disk.name}: {result}")
		    assert result in (4096, -errno.EOPNOTSUPP), f"{disk.name}: {result}"
		    assert time.monotonic() - begun < 5, disk.name
		    ring.close()
		    fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
		    buffer = direct_buffer(8192)
		    for call in (os.preadv, os.pwritev):
		        for flags in (os.RWF_HIPRI, os.RWF_HIPRI | os.RWF_NOWAIT):
		            for offset in (0, 65536):
		                begun = time.monotonic()
		                try:
		                    result = call(fd, [buffer], offset, flags)
		                except OSError as e:
		                    result = errno.errorcode[e.errno]
		                what = f"{call.__name__} of {disk.name} at {offset}, flags {flags}: {result}"
		                assert result == 8192 or result == "EOPNOTSUPP" or \
		                    flags & os.RWF_NOWAIT and result in ("EAGAIN", 4608), what
		                assert time.monotonic() - begun < 5, what
		                print(what)
		    os.close(fd)
		    wait_until(lambda: disk.inflight() == "0 0", "all I/O ends")
	END
}

# What file systems think of a map's geometry: nothing to complain about.
test_K04_mkfs_finds_nothing_odd()
{
	local node
	ram a 320M --store sparse
	ram b 320M --store sparse
	map m a 8 320000  b 2048 335000
	for node in "$(node_of m)" "$(node_of a)"; do
		# With blocks of 1 KiB, which so small a disk would get, a stride of
		# one physical block is in order.
		mkfs.ext4 -b 4096 "$node" >"$tmp/ext4" 2>&1
		[[ $node != *tmap* ]] || wipefs -qa "$node"
		not grep -iE 'align|warn|suboptimal|fail' "$tmp/ext4"
		same '' "$(dumpe2fs -h "$node" 2>/dev/null | grep -iE 'stripe|stride' || true)"
		[[ $node != *tmap* ]] || { settle && tallyctl remove m; }
	done
	map m a 8 320000  b 2048 335000
	wipefs -qa "$(node_of m)"
	mkfs.xfs "$(node_of m)" >"$tmp/xfs" 2>&1
	not grep -iE 'align|warn|suboptimal|fail' "$tmp/xfs"
	matches 'sunit=0 +swidth=0' "$(<"$tmp/xfs")"
}

# same_size BYTES WHERE: seen everywhere
same_size()
{
	local m=/dev/blktally/m
	same "$1" "$(blockdev --getsize64 $m)" "getsize64 $2"
	same "$1" "$(perl -e 'print sysseek(STDIN, 0, 2)' <$m)" "end $2"
	same "$1" "$(lsblk -bdno SIZE $m | tr -d ' ')" "lsblk $2"
	same "$1" "$(($(<"/sys/block/$(disk_of m)/size") * 512))" "sysfs $2"
	same "$1" "$(($(info m sectors) * 512))" "info $2"
	same "$1" "$(dd if=$m bs=64k status=none | wc -c)" "read $2"
}

test_N05_size_of_all_segments()
{
	local node
	ram a 2M
	ram b 2M
	map m a 0 2048  b 0 3000
	node=$(node_of m)
	same_size $((5048 * 512)) 'at first'
	mkfs.ext4 -q "$node"
	same $((5048 / 2)) "$(dumpe2fs -h "$node" 2>/dev/null | awk '/^Block count/ { print $3 }')"

	exec 3<"$node" # a reader that stays
	udevadm monitor --kernel --subsystem-match=block >"$tmp/events" &
	wait_until grep -q KERNEL "$tmp/events"
	reload m a 0 2048  b 0 4096
	same_size $((6144 * 512)) 'when larger'
	wait_until grep -q "change .*/$(disk_of m) " "$tmp/events"
	same 2048000 "$(dd bs=1000 skip=1024 count=2048 status=none <&3 | wc -c)"
	reload m a 0 1000
	same_size 512000 'when smaller'
	exec 3<&-
}

# A map has none, so no partition of it can be out of line with its blocks.
test_N01_no_partitions_on_a_map()
{
	local m
	ram big 1M --block-size 4096
	map m big 0 2048
	m=$(node_of m)
	refused 'Invalid argument' addpart "$m" 1 8 8
	refused 'Invalid argument' addpart "$m" 1 8 9
	# Nor by a table on the disk: one partition from sector 8 on, 2040 long.
	{
		head -c 446 /dev/zero
		printf '\x00\x00\x00\x00\x83\x00\x00\x00\x01\x00\x00\x00\xff\x00\x00\x00'
		head -c 48 /dev/zero
		printf '\x55\xaa'
		head -c 3584 /dev/zero
	} | dd of="$m" bs=4096 oflag=direct iflag=fullblock conv=notrunc status=none
	refused 'Invalid argument' blockdev --rereadpt "$m"
	tallyctl resume m
	settle
	same '' "$(compgen -G "${m}p*" || true)"
	tallyctl remove m
	wait_until opened big 0
	# The disk below takes it, and the last block of the partition can be read.
	blockdev --rereadpt "$(node_of big)"
	settle
	same $((255 * 4096)) "$(blockdev --getsize64 "$(node_of big)p1")"
	same 4096 "$(dd if="$(node_of big)p1" bs=4096 skip=254 iflag=direct status=none | wc -c)"
}

test_read_only()
{
	local table
	ram ro 1M --readonly
	ram rw 1M
	table=$(linear ro 0 2048)
	fails_with 1 'read-only' tallyctl create m --table "$table"
	no_such_map m
	tallyctl create m --readonly --table "$table"
	same 1 "$(blockdev --getro /dev/blktally/m)"
	same true "$(info m read_only)"
	refused 'not permitted|Read-only' dd if=/dev/zero of=/dev/blktally/m bs=512 count=1 \
		oflag=direct conv=notrunc
	# A table says for itself what it is.
	reload m rw 0 2048
	same 0 "$(blockdev --getro /dev/blktally/m)"
	write_pattern /dev/blktally/m 1 0 4096
	linear rw 0 2048 | tallyctl load m --readonly
	tallyctl resume m
	refused 'not permitted|Read-only' dd if=/dev/zero of=/dev/blktally/m bs=512 count=1 \
		oflag=direct conv=notrunc
	check_pattern /dev/blktally/m 1 0 4096
}

no_such_map() { fails_with 3 "no device \"$1\"" tallyctl info "$1"; }

test_K01_alignment_to_blocks()
{
	ram big 1M --block-size 4096
	ram small 1M
	fails_with 1 'not aligned to the 4096 byte blocks' map m big 1 8
	fails_with 1 'not aligned to the 4096 byte blocks' map m big 0 7
	# One leg's blocks are everybody's.
	fails_with 1 'not aligned to the 4096 byte blocks' map m small 0 7  big 0 8  small 7 1
	no_such_map m
	map m small 1 8  big 8 16
	same 4096 "$(blockdev --getss /dev/blktally/m)"
	same 4096 "$(info m block_size)"
	write_pattern /dev/blktally/m 1 0 12288
	cmp <(pattern 1 12288 | tail -c 8192) \
		<(dd if="$(node_of big)" bs=4096 skip=1 count=2 iflag=direct status=none)
	refused 'Invalid argument' dd if=/dev/blktally/m of=/dev/null bs=512 count=1 iflag=direct
	tallyctl remove m
	wait_until opened big 0
}

test_K06_block_size_of_an_open_map_stays()
{
	local m=/dev/blktally/m
	ram big 1M --block-size 4096
	ram small 1M
	map m small 0 1024
	write_pattern $m 1 0 524288
	load m big 0 1024
	exec 3<$m
	fails_with 1 'raise its block size from 512 to 4096' tallyctl resume m
	same "$(linear small 0 1024)" "$(tallyctl table m)"
	same false "$(info m suspended)"
	same 512 "$(blockdev --getss $m)"
	cmp <(pattern 1 524288) <(dd if=$m bs=512 iflag=direct status=none)
	exec 3<&-
	wait_until opened m 0
	tallyctl resume m
	same 4096 "$(blockdev --getss $m)"
	same "$(linear big 0 1024)" "$(tallyctl table m)"
	write_pattern $m 2 0 524288
	check_pattern "$(node_of big)" 2 0 524288
}

# What load found may be otherwise by the time of the resume.
test_resume_looks_at_the_lowers_again()
{
	ram a 4M
	map low a 0 8192
	tallyctl create up
	load up low 0 8192
	reload low a 0 4096
	fails_with 1 'device .* has 4096' tallyctl resume up
	same false "$(info up live_table)"
	load up low 0 4096
	tallyctl resume up
	write_pattern /dev/blktally/up 3 0 2097152
	check_pattern "$(node_of a)" 3 0 2097152
}

# What lies above would not flush it.
test_I08_no_cache_slips_in_below()
{
	local file=$tmp/image loop
	truncate -s 4M "$file"
	modprobe loop
	loop=$(losetup -f --show "$file")
	ram a 4M
	map m a 0 8192
	map up m 0 8192
	load m "$loop" 0 8192
	fails_with 1 'lies below up' tallyctl resume m
	same "$(linear a 0 8192)" "$(tallyctl table m)"
	tallyctl remove up
	tallyctl resume m
	matches 'write back' "$(</sys/block/"$(disk_of m)"/queue/write_cache)"
	tallyctl remove m
	losetup -d "$loop"
}
