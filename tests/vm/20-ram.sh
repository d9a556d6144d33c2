# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="null and RAM disks: data, names, removal"
LONG="G06_memory_is_back.mq J06_size_is_no_multiple_of_a_page.mq"
BEHIND_MQ="removal_while_open F06_removal_under_a_mounted_file_system G06_memory_is_back NOWAIT
	I01_discard_and_write_zeroes I03_discard_ranges_that_cannot_be J06_size_is_no_multiple_of_a_page
	N01_odd_partition_on_4096 hints_and_what_it_says_of_itself resize"

test_data_in_every_store_and_block_size()
{
	load_modules
	python <<-'END'
		import errno, random
		from blktally import *
		control = Control()
		SIZE = 1 << 20
		chance = random.Random(2)
		for store in ("flat", "sparse"):
		    for block in (512, 1024, 2048, 4096):
		        what = f"{store}, blocks of {block}"
		        disk = Disk.add(control, store=store, block_size=block, sectors=SIZE // 512)
		        same(str(block), disk.read("queue/logical_block_size"), what)
		        same(str(SIZE // 512), disk.read("size"), what)
		        image = Image(disk, SIZE, what)
		        # Never written, so zeroes; then extents of all lengths, one over the other.
		        for _ in range(60):
		            start, length = image.extent(chance, block, (1, 2, 3, 7, 8, 9, 33, 64))
		            image.write(start, chance.randbytes(length))
		            image.check(*image.extent(chance, block, (1, 5, 16, 31)))
		        image.check()
		        image.check_cached()
		        if block > 512:
		            try:
		                os.preadv(image.fd, [memoryview(image.buffer)[:512]], 0)
		                raise AssertionError(f"{what}: half a block was read")
		            except OSError as e:
		                same(errno.EINVAL, e.errno, what)
		        image.close()
	END
}

# A leaf of a sparse store's trees is 256 KiB, a round of its sixteen trees 4 MiB.
test_I01_discard_across_the_trees_of_a_sparse_store()
{
	load_modules
	python <<-'END'
		from blktally import *
		SIZE, LEAF, PAGE = 9 << 20, 256 << 10, 4096
		disk = Disk.add(Control(), store="sparse", sectors=SIZE // 512)
		image = Image(disk, SIZE, "sparse")
		for start, length in ((0, PAGE), (0, LEAF), (LEAF - PAGE, 2 * PAGE), (PAGE, 3 * LEAF),
		                      (LEAF - PAGE, 15 * LEAF + 2 * PAGE), (0, 16 * LEAF),
		                      (5 * PAGE, 16 * LEAF), (LEAF, 30 * LEAF + PAGE), (0, SIZE)):
		    for leaf in range(0, SIZE, LEAF):
		        for page in (0, 5 * PAGE, LEAF - PAGE):
		            image.write(leaf + page, b"\xa5" * PAGE)
		    image.clear(BLKDISCARD, start, length)
		    image.check()
		image.close()
	END
}

test_null_disk_keeps_nothing()
{
	load_modules
	tallyctl ram add none --size 1T --backing null
	write_pattern /dev/blktally/none 1 $((1 << 39)) 65536
	same $((1 << 40)) "$(blockdev --getsize64 /dev/blktally/none)"
	not check_pattern /dev/blktally/none 1 $((1 << 39)) 65536 2>/dev/null
}

test_sparse_store_takes_memory_as_it_is_written()
{
	load_modules
	tallyctl ram add big --size 1T --store sparse
	write_pattern /dev/blktally/big 5 $(((1 << 40) - 65536)) 65536
	check_pattern /dev/blktally/big 5 $(((1 << 40) - 65536)) 65536
	cmp -n 65536 /dev/zero /dev/blktally/big
	fails_with 1 'memory' tallyctl ram add flat --size 1T
	not test -e /dev/blktally/flat
}

test_I01_discard_and_write_zeroes()
{
	load_modules
	python <<-'END'
		import random
		from blktally import *
		control = Control()
		SECTORS = 3 * 8 + 1
		chance = random.Random(1)
		pattern = bytes(chance.randrange(1, 256) for _ in range(SECTORS * 512))
		for options in ({"store": "flat"}, {"store": "sparse"},
		                {"store": "flat", "completion": "softirq"}):
		    disk = Disk.add(control, sectors=SECTORS, **options)
		    fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
		    buffer = direct_buffer(SECTORS * 512)
		    places = [(start, length) for start in list(range(9)) + list(range(SECTORS - 9, SECTORS))
		              for length in range(1, 9) if start + length <= SECTORS] + [(0, SECTORS)]
		    for command in (BLKDISCARD, BLKZEROOUT):
		        for start, length in places:
		            buffer[:len(pattern)] = pattern
		            same(len(pattern), os.pwritev(fd, [memoryview(buffer)[:len(pattern)]], 0))
		            same(0, block_range(fd, command, start * 512, length * 512))
		            same(len(pattern), os.preadv(fd, [memoryview(buffer)[:len(pattern)]], 0))
		            got = buffer[:len(pattern)]
		            a, b = start * 512, (start + length) * 512
		            what = f"{options}: {command:#x} of {length} sectors from {start} on"
		            assert got[:a] == pattern[:a] and got[b:] == pattern[b:], f"{what}: outside"
		            for sector in range(start, start + length):
		                one = slice(sector * 512, sector * 512 + 512)
		                fine = (bytes(512), pattern[one]) if command == BLKDISCARD else (bytes(512),)
		                assert got[one] in fine, f"{what}: sector {sector}"
		    os.close(fd)
	END
}

# impossible_ranges NODE: of 1 MiB with blocks of 4096 bytes; all are refused
impossible_ranges()
{
	write_pattern "$1" 1 0 $((1 << 20))
	python "$1" <<-'END'
		import errno, sys
		from blktally import *
		fd = os.open(sys.argv[1], os.O_RDWR)
		for command in (BLKDISCARD, BLKZEROOUT):
		    for start, length in ((0x80000000000FF000, 0x8000000000FFF000),
		                          (0, 1 << 63), (1 << 63, 1 << 63), (4096, (1 << 64) - 4096),
		                          ((1 << 64) - 4096, 8192), (1 << 20, 4096), (0, (1 << 20) + 4096),
		                          (512, 4096), (0, 512), (1, 4096), (0, 4095)):
		        begun = time.monotonic()
		        same(errno.EINVAL, block_range(fd, command, start, length),
		             f"{command:#x} of {length:#x} from {start:#x} on")
		        assert time.monotonic() - begun < 10
		    # Of length 0 kernels think differently; it must do nothing.
		    if command == BLKDISCARD:
		        assert block_range(fd, command, 0, 0) in (0, errno.EINVAL)
	END
	check_pattern "$1" 1 0 $((1 << 20))
}

test_I03_discard_ranges_that_cannot_be()
{
	load_modules
	tallyctl ram add disk --size 1M --block-size 4096
	impossible_ranges /dev/blktally/disk
	tallyctl create m --table "0 2048 linear $(dev_of disk) 0"
	impossible_ranges /dev/blktally/m
}

# tail_of NODE BYTES: the last part of a page, and what lies behind it
tail_of()
{
	local node=$1 bytes=$2
	write_pattern "$node" 3 0 "$bytes"
	cmp <(pattern 3 "$bytes") "$node"
	same 512 "$(tail -c +$((bytes - 511)) "$node" | wc -c)"
	same 0 "$(dd if="$node" bs=512 skip=$((bytes / 512)) status=none | wc -c)"
	refused 'No space left' dd if=/dev/zero of="$node" bs=512 \
		seek=$((bytes / 512)) count=1 conv=notrunc
	# Behind the end of the last page nothing of old memory shows.
	python "$node" "$bytes" <<-'END'
		import mmap, sys
		size = int(sys.argv[2])
		with open(sys.argv[1], "rb") as f:
		    page = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ, offset=size - 512)
		    assert page[512:] == bytes(4096 - 512), "the page goes on behind the end"
		    f.seek(size - 512)
		    assert page[:512] == f.read()
	END
}

test_J06_size_is_no_multiple_of_a_page()
{
	local store bytes=$((4096 * 5 + 512))
	load_modules
	for store in flat sparse; do
		tallyctl ram add tail --size $bytes --store $store
		tail_of /dev/blktally/tail $bytes
		# A map that ends where its lower does, and one that ends before.
		tallyctl create m --table "0 $((bytes / 512)) linear $(dev_of tail) 0"
		tail_of /dev/blktally/m $bytes
		tallyctl load m --table "0 17 linear $(dev_of tail) 3"
		tallyctl resume m
		tail_of /dev/blktally/m $((17 * 512))
		settle
		tallyctl remove m
		settle
		tallyctl ram remove tail
	done
}

test_partitions_count_on_both()
{
	local disk part profile
	load_modules
	tallyctl ram add disk --size 8M
	disk=$(disk_of disk)
	addpart "/dev/$disk" 1 2048 4096
	settle
	part=${disk}p1
	wait_until test -b "/dev/$part"
	for profile in linux-5.0 linux-4.20 native; do
		sysfs disk profile $profile
		python "$disk" "$part" <<-'END'
			import sys
			from blktally import *
			disk, part = Disk(sys.argv[1]), sys.argv[2]
			views = (lambda: disk.stat(), lambda: disk.stat("stat"), lambda: disk.stat(f"{part}/stat"))
			before = [view() for view in views]
			aio = Aio(f"/dev/{part}")
			for i in range(5):
			    aio.submit(i < 2, 4096 * i)
			aio.close()
			for b, view in zip(before, views):
			    after = view()
			    same((3, 24, 2, 16), tuple(after[i] - b[i] for i in (0, 2, 4, 6)))
			    same(0, after[8])
			# The whole disk's own I/O is none of the partition's.
			before = disk.stat(f"{part}/stat")
			aio = Aio(disk.node)
			aio.submit(False)
			aio.close()
			same(before[:8], disk.stat(f"{part}/stat")[:8])
		END
	done
	write_pattern "/dev/$part" 4 0 $((2 << 20))
	check_pattern "/dev/$disk" 4 $((1 << 20)) $((2 << 20))
	refused 'No space left' dd if=/dev/zero "of=/dev/$part" bs=4096 seek=512 count=1 \
		oflag=direct
	same "0 0" "$(sysfs disk inflight)"
	settle
	tallyctl ram remove disk
	not test -e "/dev/$part"
}

test_partition_counts_in_flight_on_both()
{
	load_modules
	tallyctl ram add disk --size 32K --backing null --completion timer \
		--completion-ns 700000000 --profile linux-5.0
	addpart /dev/blktally/disk 1 8 16
	settle
	python "$(disk_of disk)" <<-'END'
		import sys
		from blktally import *
		disk = Disk(sys.argv[1])
		aio = Aio(f"{disk.node}p1")
		aio.submit(False)
		aio.submit(True)
		aio.submit(True)
		same("1 2", disk.inflight())
		same(["1", "2"], disk.read("inflight").split())
		same(["1", "2"], disk.read(f"{disk.name}p1/inflight").split())
		same(3, aio.flying - aio.reap())
		aio.close()
		same("0 0", disk.inflight())
		same(["0", "0"], disk.read(f"{disk.name}p1/inflight").split())
	END
}

test_N01_odd_partition_on_4096()
{
	local disk
	load_modules
	tallyctl ram add disk --size 1M --block-size 4096
	disk=$(disk_of disk)
	# Sectors of 512 bytes: no start and no length inside a block is taken.
	refused 'Invalid argument' addpart "/dev/$disk" 1 8 9
	refused 'Invalid argument' addpart "/dev/$disk" 1 9 8
	refused 'Invalid argument' addpart "/dev/$disk" 1 8 2041
	addpart "/dev/$disk" 1 8 2040
	settle
	same $((2040 * 512)) "$(blockdev --getsize64 "/dev/${disk}p1")"
	same 4096 "$(dd if="/dev/${disk}p1" bs=4096 skip=254 iflag=direct status=none | wc -c)"
}

test_readonly()
{
	load_modules
	tallyctl ram add disk --size 1M -r
	same 1 "$(<"/sys/block/$(disk_of disk)/ro")"
	refused 'not permitted|Read-only|denied' dd if=/dev/zero of=/dev/blktally/disk bs=4096 \
		count=1 oflag=direct
	refused 'not permitted|Read-only|denied' blkdiscard -z /dev/blktally/disk
	cmp -n $((1 << 20)) /dev/zero /dev/blktally/disk
}

test_names_and_lists()
{
	local name
	load_modules
	same tram0 "$(tallyctl ram add --size 1M)"
	tallyctl ram add second --size 2M --backing null --profile linux-5.0
	tallyctl ram add 'with blank' --size 3M --store sparse
	same 3 "$(tallyctl ram list | wc -l)"
	matches 'second.*4096.*null bio inline.*linux-5.0' "$(tallyctl ram list)"
	matches 'with blank.*6144.*ram sparse bio inline.*none' "$(tallyctl ram list)"
	python <<-'END'
		import json
		from blktally import *
		import subprocess
		out = subprocess.run([os.environ["BIN"] + "/tallyctl/tallyctl", "ram", "list", "--json"],
		                     check=True, stdout=subprocess.PIPE).stdout
		same("blktally/ram-list/1", json.loads(out)["schema"])
		same({"tram0", "second", "with blank"}, set(Control().disks()))
	END
	same tnull0 "$(disk_of second)"
	same tram1 "$(disk_of 'with\x20blank')"
	for name in second tram0 'with blank'; do
		fails_with 1 "$name" tallyctl ram add "$name" --size 1M
	done
	same 3 "$(tallyctl ram list | wc -l)"
	for name in control . .. a/b tram7 tmap0 tnull12; do
		fails_with 1 'name' tallyctl ram add "$name" --size 1M
	done
	fails_with 2 '' tallyctl ram add '' --size 1M
	fails_with 3 'nowhere' tallyctl ram remove nowhere
	tallyctl ram remove second
	not test -L /dev/blktally/second
	# One that is not there does not keep the others.
	fails_with 3 'nowhere' tallyctl ram remove tram0 nowhere 'with blank'
	same '' "$(tallyctl ram list)"
	no_trace_left
	# Numbers are used again.
	same tram0 "$(tallyctl ram add --size 1M)"
}

test_creators_of_one_name_have_one_winner()
{
	load_modules
	python <<-'END'
		import errno, threading
		from blktally import *
		control = Control()
		for _ in range(5):
		    results = []
		    def create():
		        results.append(Control().call("RAM_ADD", ram_add(name="x", backing="null"))[0])
		    threads = [threading.Thread(target=create) for _ in range(6)]
		    for t in threads: t.start()
		    for t in threads: t.join()
		    same([0] + 5 * [errno.EEXIST], sorted(results))
		    same(["x"], control.disks())
		    wait_until(lambda: control.call("RAM_REMOVE", ref("x"))[0] == 0, "removal")
	END
	no_trace_left
}

test_removal_while_open()
{
	local fd
	load_modules
	tallyctl ram add disk --size 1M --profile linux-5.0
	settle
	exec {fd}<>"$(node_of disk)"
	fails_with 1 'disk is open' tallyctl ram remove disk
	same 512 "$(dd bs=512 count=1 <&"$fd" 2>/dev/null | wc -c)"
	tallyctl ram remove -f disk
	same '' "$(our_disks)"
	same '' "$(tallyctl ram list)"
	# Nothing is read and nothing written by who had it open.
	same 0 "$({ dd bs=512 count=1 <&"$fd" 2>/dev/null || true; } | wc -c)"
	refused 'No space left|Input/output' bash -c "dd if=/dev/zero bs=512 count=1 >&$fd"
	# The name is free at once, the module only after the last close.
	tallyctl ram add disk --size 1M
	tallyctl ram remove disk
	settle
	refused 'in use' rmmod tally_ram
	exec {fd}>&-
	wait_until rmmod tally_ram 2>/dev/null
	no_trace_left
}

test_removal_with_IO_in_flight()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		disk = Disk.add(control, name="slow", sectors=8, backing="null", completion="timer",
		                completion_ns=10**9, profile="linux-4.20")
		settle()
		aio = Aio(disk.node)
		for i in range(4):
		    aio.submit(i % 2)
		same("2 2", disk.inflight())
		control.must("RAM_REMOVE", ref("slow"), flags=2)	# waits for them
		same(4, aio.reap())
		same([], control.disks())
		aio.close()
	END
	no_trace_left
}

# By each way; what was beyond the end is gone, and no memory of it is kept.
test_resize()
{
	load_modules
	tallyctl ram add disk --size 1M --store sparse --profile linux-5.0
	tallyctl ram add flat --size 1M
	settle
	python "$(disk_of disk)" "$(disk_of flat)" <<-'END'
		import subprocess, sys
		from blktally import *
		control = Control()
		disk, flat = (Disk(name) for name in sys.argv[1:])
		tool = os.environ["BIN"] + "/tallyctl/tallyctl"
		MIB = 1 << 20
		def by_ioctl(size):
		    control.must("RAM_SET", ref("disk") + text("size", 32) + text(str(size), 64))
		def by_tool(size):
		    subprocess.run([tool, "ram", "set", "disk", f"size={size}"], check=True)
		ways = (by_ioctl, by_tool, lambda size: disk.write("ram/size", str(size)))
		fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
		data = direct_buffer(MIB)
		data[:] = os.urandom(MIB)
		for way in ways:
		    way(MIB)
		    same(MIB, os.pwritev(fd, [data], 0))
		    way(5 * 4096 + 512)
		    same((41, "20992"), (int(disk.read("size")), disk.read("ram/size")))
		    same(41 * 512, os.lseek(fd, 0, os.SEEK_END))
		    for offset in (41 * 512, 6 * 4096):
		        try:
		            got = os.preadv(fd, [memoryview(data)[:512]], offset)
		        except OSError as e:
		            got = 0
		        same(0, got, "beyond the end")
		    way(4 * MIB)
		    back = direct_buffer(MIB)
		    same(MIB, os.preadv(fd, [back], 0))
		    assert back[:41 * 512] == data[:41 * 512]
		    same(bytes(MIB - 41 * 512), back[41 * 512:], "what has come back")
		# No partition loses its end; BLKPG, add: 1 MiB at 1 MiB.
		part = ctypes.create_string_buffer(struct.pack("<qqi128s", MIB, MIB, 1, b""), 152)
		ask = struct.pack("<iiixxxxQ", 1, 0, 152, ctypes.addressof(part))
		fcntl.ioctl(fd, 0x1269, ask)
		control.refused(errno.EBUSY, "RAM_SET", ref("disk") + text("size", 32) + text("1048576", 64),
		                why="partition that ends at 2097152")
		by_ioctl(2 * MIB)
		ask = struct.pack("<iiixxxxQ", 2, 0, 152, ctypes.addressof(part))
		fcntl.ioctl(fd, 0x1269, ask)
		by_ioctl(MIB)
		os.close(fd)
		before = [disk.read("size"), flat.read("size")]
		for size in ("0", "100", "-1", "1M", "\n", "9" * 21, "4096 4096", str(1 << 63)):
		    assert disk.store("ram/size", size) in (errno.EINVAL, errno.ERANGE), size
		same(errno.EINVAL, flat.store("ram/size", "4096"))
		control.refused(errno.EINVAL, "RAM_SET", ref("flat") + text("size", 32) + text("4096", 64),
		                why="flat")
		control.refused(errno.EINVAL, "RAM_SET", ref("disk") + text("colour", 32) + text("1", 64),
		                why="colour")
		same(before, [disk.read("size"), flat.read("size")])
	END
}

test_hints_and_what_it_says_of_itself()
{
	local disk value
	load_modules
	tallyctl ram add plain --size 1M
	tallyctl ram add odd --size 1M --io-min 64K --io-opt 1M --rotational --no-discard
	settle
	for value in "plain 4096 0 0" "odd 65536 1048576 1"; do
		disk=$(disk_of "${value%% *}")
		same "${value#* }" "$(lsblk -dnro MIN-IO,OPT-IO,ROTA "/dev/$disk")"
	done
	blkdiscard -f /dev/blktally/plain
	refused 'not supported' blkdiscard -f /dev/blktally/odd
	blkdiscard -f -z /dev/blktally/odd
	refused 'io_min=4095: must be a multiple of 4096' tallyctl ram add x --size 1M --io-min 4095
	refused 'io_opt=8192: must be a multiple of 12288' tallyctl ram add x --size 1M --io-min 12K \
		--io-opt 8K
	same $'odd\nplain' "$(tallyctl ram list | awk '{ print $1 }' | sort)"
}

test_F06_removal_under_a_mounted_file_system()
{
	load_modules
	tallyctl ram add disk --size 8M --profile native
	mkfs.ext4 -q /dev/blktally/disk
	mkdir "$tmp/mnt"
	mount /dev/blktally/disk "$tmp/mnt"
	echo text >"$tmp/mnt/file"
	sync -f "$tmp/mnt/file"
	fails_with 1 'disk is open' tallyctl ram remove disk
	same text "$(<"$tmp/mnt/file")"
	tallyctl ram remove -f disk
	same '' "$(our_disks)"
	! dd if=/dev/zero of="$tmp/mnt/more" bs=64k count=16 conv=fsync 2>"$tmp/err" ||
		fail "written to a disk that is gone"
	matches 'Input/output error|Read-only|No space' "$(<"$tmp/err")"
	umount "$tmp/mnt"
	wait_until rmmod tally_ram 2>/dev/null
	no_trace_left
}

memory_now() # MiB
{
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo
}

memory_within() { (($(memory_now) >= $1)); }

# What was freed before comes back little by little: CPUs keep pages for themselves, RCU others.
memory_at_rest()
{
	local before=0 now
	now=$(memory_now)
	while ((now > before)); do
		before=$now
		sleep 1.5
		now=$(memory_now)
	done
	echo "$before"
}

test_G06_memory_is_back()
{
	local before round store
	load_module tally_core
	before=$(memory_at_rest)
	for round in 1 2 3 4; do
		store=flat
		((round % 2)) || store=sparse
		load_module tally_ram nr_devices=1 size_mb=192 store=$store
		settle
		dd if=/dev/zero of=/dev/tram0 bs=1M count=192 oflag=direct status=none
		not memory_within $((before - 150))
		case $round in
		1 | 2) rmmod tally_ram ;;
		3 | 4) tallyctl ram remove tram0 ;;
		esac
		wait_until memory_within $((before - 64))
		not loaded tally_ram || rmmod tally_ram
	done
	# Discarded pages of a sparse store come back as well.
	load_module tally_ram nr_devices=1 size_mb=192 store=sparse
	settle
	dd if=/dev/zero of=/dev/tram0 bs=1M oflag=direct status=none 2>/dev/null || true
	not memory_within $((before - 150))
	blkdiscard /dev/tram0
	wait_until memory_within $((before - 64))
}

test_NOWAIT()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		data = direct_buffer(8192)
		back = direct_buffer(8192)
		data[:] = bytes(range(1, 129)) * 64
		def attempt(function, *arguments):
		    try:
		        return function(*arguments, os.RWF_NOWAIT)
		    except OSError as e:
		        return -e.errno
		for options in ({"store": "flat"}, {"store": "sparse"}, {"backing": "null"},
		                {"store": "flat", "completion": "softirq"},
		                {"store": "flat", "completion": "timer", "completion_ns": 100000}):
		    for profile in ("none", "linux-5.0"):
		        disk = Disk.add(control, profile=profile, **options)
		        fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
		        same(8192, os.pwritev(fd, [data], 65536))	# so that a sparse store has pages
		        back[:] = bytes(8192)
		        same(8192, attempt(os.preadv, fd, [back], 65536), f"read of {options}")
		        if options.get("backing") != "null":
		            same(data[:], back[:], f"data of {options}")
		        data[:] = data[1:] + data[:1]
		        same(8192, attempt(os.pwritev, fd, [data], 65536), f"write to {options}")
		        same(8192, os.preadv(fd, [back], 65536))
		        if options.get("backing") != "null":
		            same(data[:], back[:], f"data of {options}")
		        # Into a hole: at once, or not at all.
		        result = attempt(os.pwritev, fd, [data], 131072)
		        assert result in (8192, -errno.EAGAIN), result
		        os.preadv(fd, [back], 131072)
		        if options.get("backing") != "null":
		            assert back[:] == (data[:] if result > 0 else bytes(8192)), options
		        same("0 0", disk.inflight())
		        os.close(fd)
	END
}

# md's raid0 chains the first part of a bio to the rest: when that part fails on
# one leg, our leg, which gets the rest, must not make it good.
test_error_of_a_chained_bio_stays()
{
	local options size=8192
	load_modules
	modprobe -q dm-raid && modprobe -q raid0 || fail 'no dm-raid here'
	dmsetup create broken --table "0 $size error"
	for options in "inline" "softirq" "timer --completion-ns 10000"; do
		# shellcheck disable=SC2086
		tallyctl ram add leg --size 4M --completion $options >/dev/null
		dmsetup create striped --table "0 $((2 * size)) raid raid0 1 8 2 - /dev/mapper/broken - /dev/blktally/leg"
		dd if=/dev/mapper/striped of=/dev/null bs=4k skip=1 count=1 iflag=direct status=none
		refused 'Input/output error' \
			dd if=/dev/mapper/striped of=/dev/null bs=8k count=1 iflag=direct
		dmsetup remove --retry striped
		settle
		tallyctl ram remove leg
	done
	dmsetup remove --retry broken
}

# Neither a store that does not fit nor a write for which there is no page costs
# anybody's life.
test_memory_that_runs_out()
{
	local killed name pid pids=() size
	load_modules
	killed=$(sed -n 's/^oom_kill //p' /proc/vmstat)
	size=$(awk '/^MemAvailable:/ { print int($2 * 0.7) "K" }' /proc/meminfo)
	for name in one two; do
		tallyctl ram add $name --size "$size" --node 0 >/dev/null 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || :; done
	for name in one two; do tallyctl ram remove $name 2>/dev/null || :; done
	same "$killed" "$(sed -n 's/^oom_kill //p' /proc/vmstat)" 'processes killed'
	tallyctl ram add one --size "$size" --node 0 # one alone fits
}
