# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="accounting: every combination of modes, views, stores, models"
LONG="round_trips_of_profiles_and_modes A01_by_parameter_ioctl_and_tool
	A03_A09_times_of_a_map_and_its_lower.mq A01_map_shows_what_its_lower_shows.mq
	A09_times_of_short_IO.mq A01_native_with_partitions.mq"
BEHIND_MQ="A01_native_with_partitions A01_map_shows_what_its_lower_shows A09_time_of_a_busy_disk
	A09_times_of_short_IO A03_A09_times_of_a_map_and_its_lower A03_busy_time_models
	stat_never_goes_backwards_across_switches round_trips_of_profiles_and_modes A01_by_parameter_ioctl_and_tool"

# Every legal combination of axes: a read, then a write is held in flight, and
# all views are looked at. Many disks at once, for the second that each takes.
test_A01_in_flight_in_every_combination()
{
	load_modules
	python <<-'END'
		import threading
		from blktally import *
		control = Control()
		DISKS = 17
		HOLD = 1.5
		made = time.monotonic()
		disks = [None] * DISKS
		def add(i):
		    disks[i] = Disk.add(Control(), sectors=8, backing="null", completion="timer",
		                        completion_ns=int(HOLD * 1e9))
		threads = [threading.Thread(target=add, args=(i,)) for i in range(DISKS)]
		for t in threads: t.start()
		for t in threads: t.join()
		settle()
		# Who looks at new disks has gone.
		for disk in disks:
		    disk.write("tally/profile", "linux-4.20")
		    wait_until(lambda: disk.inflight() == "0 0", "idle")
		aios = [Aio(disk.node) for disk in disks]

		def look(disk, modes, reads, writes, since):
		    what = f"{modes}, {reads} {writes} in flight"
		    same(f"{reads} {writes}" if modes[0] != "off" else "0 0", disk.inflight(), what)
		    shown = (reads, writes) if modes[0] in ("percpu", "native") else (0, 0)
		    same(shown, tuple(map(int, disk.read("inflight").split())), f"kernel's inflight, {what}")
		    most = (time.monotonic() - since) * 1000 + 100
		    for view, fields in (("tally/stat", disk.stat()), ("stat", disk.stat("stat")),
		                         ("diskstats", disk.diskstats())):
		        counted = (reads + writes) * (modes[0] != "off") if view == "tally/stat" else sum(shown)
		        same(counted, fields[8], f"field 9 of {view}, {what}")
		        assert fields[9] <= most, f"busy time {fields[9]} ms in {view}, {what}"
		        assert fields[10] < 60 * most, f"queue time {fields[10]} ms in {view}, {what}"

		todo = [c for c in COMBINATIONS if legal(*c)]
		same(85, len(todo))
		again = 0
		while todo:
		    batch, todo = todo[:DISKS], todo[DISKS:]
		    pairs = list(zip(disks, aios, batch))
		    for disk, _, modes in pairs:
		        disk.set_modes(*modes)
		        look(disk, modes, 0, 0, made)
		    for _, aio, _ in pairs:
		        aio.submit(False)
		    for disk, _, modes in pairs:
		        seen = disk.inflight()
		        if modes[0] != "off":
		            assert seen in ("1 0", "0 0"), (modes, seen)
		    held = [(disk.inflight(), disk, aio, modes) for disk, aio, modes in pairs]
		    for seen, disk, aio, modes in held:
		        aio.seen_one = seen
		        aio.submit(True)
		    try:
		        for disk, _, modes in pairs:
		            look(disk, modes, 1, 1, made)
		        for _, disk, aio, modes in held:
		            if modes[0] != "off":
		                same("1 0", aio.seen_one, modes)
		        bad = None
		    except AssertionError as e:
		        bad = e
		    # Only what was in flight all the while proves anything.
		    early = sum(aio.reap() for _, aio, _ in pairs)
		    for _, aio, _ in pairs:
		        aio.drain()
		    if early:
		        again += 1
		        assert again < 5, "I/Os end before they were looked at"
		        todo = batch + todo
		        continue
		    if bad:
		        raise bad
		    for disk, _, modes in pairs:
		        look(disk, modes, 0, 0, made)
		for aio in aios:
		    aio.close()
	END
}

# The running kernel's count, where an I/O goes to a partition: on that alone, or
# (with bdev_count_inflight()) on it and on the disk. On the disk each is one.
test_A01_native_with_partitions()
{
	load_modules
	without_udevd # it reads each partition, and holds what it reads
	python <<-'END'
		from blktally import *
		HOLD = 1.5
		disk = Disk.add(Control(), sectors=2048, backing="null", completion="timer",
		                completion_ns=int(HOLD * 1e9))
		disk.write("tally/profile", "native")
		for number, start in ((1, 8), (2, 1024)):
		    subprocess.run(["addpart", disk.node, str(number), str(start), "512"], check=True)
		whole, first, second = aios = [Aio(disk.node + part) for part in ("", "p1", "p2")]
		wait_until(lambda: disk.inflight() == "0 0", "idle")
		for again in range(5):
		    for aio, write in ((whole, False), (first, True), (second, False), (second, True)):
		        aio.submit(write)
		    shown = disk.inflight()
		    parts = [disk.read(f"{disk.name}{p}/inflight").split() for p in ("p1", "p2")]
		    early = sum(aio.reap() for aio in aios)
		    for aio in aios:
		        aio.drain()
		    if not early: # only what was in flight all the while proves anything
		        break
		assert not early, "I/Os end before they were looked at"
		same("2 2", shown, "the disk")
		same([["0", "1"], ["1", "1"]], parts, "the kernel's own, of the partitions")
		same("0 0", disk.inflight(), "ended")
		for aio in aios:
		    aio.close()
	END
}

# The same I/O counts on a map and on the disk below: all profiles, and modes
# that none of them has, each on a pair of its own.
test_A01_map_shows_what_its_lower_shows()
{
	load_modules
	python <<-'END'
		import threading
		from blktally import *
		HOLD = 2.5
		control = Control()
		# A profile, or in-flight, pending, ticks, clock
		wanted = PROFILES[1:] + [
		    ("shared", "percpu", "exact", "ns"), ("split", "shared", "checked", "jiffies"),
		    ("pernode", "off", "elapsed", "off"), ("percpu", "shared", "exact", "ns"),
		    ("pernode", "percpu", "round", "jiffies"), ("off", "shared", "exact", "ns")]
		pairs = [None] * len(wanted)
		def add(i):
		    mine = Control()
		    low = Disk.add(mine, name=f"low{i}", sectors=8, backing="null", completion="timer",
		                   completion_ns=int(HOLD * 1e9))
		    pairs[i] = (Disk.map(mine, f"up{i}", f"0 8 linear {low.number()} 0\n"), low)
		threads = [threading.Thread(target=add, args=(i,)) for i in range(len(wanted))]
		for t in threads: t.start()
		for t in threads: t.join()
		assert all(pairs), "not all disks were made"
		settle()	# whoever looks at new disks
		for i, modes in enumerate(wanted):
		    for name, pending in ((f"up{i}", True), (f"low{i}", False)):
		        if isinstance(modes, str):
		            control.must("SET", set_modes(name, modes))
		        else:
		            inflight, kind, ticks, clock = modes
		            control.must("SET", set_modes(name, "none", inflight, kind if pending else "off",
		                                          ticks, clock))
		aios = [Aio(up.node) for up, _ in pairs]

		def look(i, reads, writes):
		    for disk in pairs[i]:
		        inflight = disk.read("tally/mode_inflight")
		        what = f"{wanted[i]} on {disk.name}, {reads} {writes} in flight"
		        counted = (reads, writes) if inflight != "off" else (0, 0)
		        # The kernel's own shows our cells of bios where it has them, and of requests none.
		        requests = QUEUE == "mq" and disk is pairs[i][1]
		        kernels = ("native",) if requests else ("percpu", "native")
		        shown = (reads, writes) if inflight in kernels else (0, 0)
		        same("{} {}".format(*counted), disk.inflight(), what)
		        same(shown, tuple(map(int, disk.read("inflight").split())), f"kernel's inflight, {what}")
		        same(sum(counted), disk.stat()[8], f"field 9, {what}")
		        if not requests or inflight != "percpu":	# there it differs by kernel
		            same((sum(shown),) * 2, (disk.stat("stat")[8], disk.diskstats()[8]),
		                 f"the kernel's field 9, {what}")

		def hold():
		    """None, or what was wrong; only what was in flight all the while proves anything"""
		    try:
		        for i, aio in enumerate(aios):
		            look(i, 0, 0)
		            aio.submit(False)
		        for i in range(len(aios)):
		            look(i, 1, 0)
		        for aio in aios:
		            aio.submit(True)
		        for i in range(len(aios)):
		            look(i, 1, 1)
		        bad = None
		    except AssertionError as e:
		        bad = e
		    early = sum(aio.reap() for aio in aios)
		    for aio in aios:
		        aio.drain()
		    return early, bad
		for attempt in range(5):
		    early, bad = hold()
		    if not early:
		        break
		same(0, early, "I/Os that ended before they were looked at")
		if bad:
		    raise bad
		for i in range(len(aios)):
		    look(i, 0, 0)
		for aio in aios:
		    aio.close()
	END
}

# Whoever set the modes, and however the disk was made.
test_A01_by_parameter_ioctl_and_tool()
{
	local slow=1500000000
	load_module tally_core
	without_udevd # who looks at a disk of 1 MiB would look for long
	load_module tally_ram nr_devices=1 size_mb=1 backing=null completion=timer \
		completion_ns=$slow profile=linux-4.20
	load_module tally_map
	tallyctl ram add low --size 4K --backing null --completion timer --completion-ns $slow \
		--profile percpu-v1
	tallyctl create up --table "0 8 linear $(dev_of low) 0" --profile linux-5.18
	tallyctl ram add second --size 4K --backing null --completion timer --completion-ns $slow
	tallyctl create set --table "0 8 linear $(dev_of second) 0"
	tallyctl set set linux-4.20 ticks=exact
	tallyctl set second native
	python "$(disk_of low)" "$(disk_of up)" "$(disk_of second)" "$(disk_of set)" <<-'END'
		import sys
		from blktally import *
		control = Control()
		low, up, second, by_set = (Disk(name) for name in sys.argv[1:])
		made = Disk.add(control, name="made", sectors=8, backing="null", completion="timer",
		                completion_ns=1500000000, profile="linux-5.0")
		over = Disk.map(control, "over", f"0 8 linear {made.number()} 0\n", "linux-6.10")
		ways = {Disk("tnull0"): "linux-4.20", low: "percpu-v1", up: "linux-5.18", second: "native",
		        by_set: "custom", made: "linux-5.0", over: "linux-6.10"}
		for disk, profile in ways.items():
		    same(profile, disk.read("tally/profile"), disk.name)
		aios = [Aio(disk.node) for disk in (Disk("tnull0"), up, by_set, over)]
		def look(wanted):
		    same(dict.fromkeys(ways.values(), wanted),
		         {profile: disk.inflight() for disk, profile in ways.items()})
		for n, wanted in enumerate(("1 0", "1 1")):
		    for aio in aios:
		        aio.submit(n == 1)
		    look(wanted)
		same(0, sum(aio.reap() for aio in aios), "I/Os that ended early")
		for aio in aios:
		    aio.drain()
		look("0 0")
		for aio in aios:
		    aio.close()
	END
}

# The same by the names of profiles, and I/O counted as it was done.
test_counts_in_every_profile()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		disk = Disk.add(control, sectors=2048)
		fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
		buffer = direct_buffer(8192)
		def do(reads, writes, discards):
		    for i in range(reads):
		        os.preadv(fd, [memoryview(buffer)[:4096]], 4096 * i)
		    for i in range(writes):
		        os.pwritev(fd, [buffer], 8192 * i)
		    for i in range(discards):
		        same(0, block_range(fd, BLKDISCARD, 1024 * i, 1024))
		for profile in PROFILES + ["split", "pernode", "shared"]:
		    if profile in PROFILES:
		        disk.write("tally/profile", profile)
		    else:
		        disk.set_modes(profile, "off", "off")
		    before = {view: disk.stat(view) for view in ("tally/stat", "stat")}
		    do(7, 5, 3)
		    for view, old in before.items():
		        now = disk.stat(view)
		        grown = [now[i] - old[i] for i in (0, 1, 2, 4, 5, 6, 11, 12, 13, 15)]
		        wanted = [7, 0, 56, 5, 0, 80, 3, 0, 6, 0] if profile != "none" else [0] * 10
		        same(wanted, grown, f"{profile}: {view}")
		        same(0, now[8], f"{profile}: in flight in {view}")
	END
}

test_combinations_that_are_refused()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		disk = Disk.add(control, name="disk", sectors=8)
		disk.write("tally/profile", "linux-5.0")
		switches = int(disk.read("tally/switches"))

		# By ioctl: all four at once.
		for modes in COMBINATIONS:
		    inflight, ticks, clock = modes
		    body = set_modes("disk", "none", inflight, "off", ticks, clock)
		    error, _ = control.call("SET", body)
		    if legal(*modes):
		        same(0, error, modes)
		        same((inflight, "off", ticks, clock), disk.modes())
		        continue
		    same(errno.EINVAL, error, modes)
		    # The axis that is in the way is named.
		    if inflight == "native":
		        axis = f"ticks={ticks}" if ticks != "off" else f"clock={clock}"
		    else:
		        axis = f"ticks={ticks}"
		        assert "inflight=off" in control.reason, control.reason
		    assert axis in control.reason, f"{modes}: {control.reason}"
		for pending in ("shared", "percpu"):
		    control.refused(errno.EINVAL, "SET", set_modes("disk", pending=pending),
		                    why=f"pending={pending}")

		# By one axis at a time, from every legal combination: the old one stays.
		def neighbours(modes):
		    for axis, words in ((0, INFLIGHT), (1, TICKS), (2, CLOCK)):
		        for word in words:
		            yield axis, word, modes[:axis] + (word,) + modes[axis + 1:]
		refused = 0
		for modes in COMBINATIONS:
		    if not legal(*modes) or modes[2] == "jiffies":
		        continue
		    inflight, ticks, clock = modes
		    control.must("SET", set_modes("disk", "none", inflight, "off", ticks, clock))
		    before = disk.read("tally/switches")
		    for axis, word, target in neighbours(modes):
		        if legal(*target):
		            continue
		        refused += 1
		        file = ("tally/mode_inflight", "tally/mode_ticks", "tally/mode_clock")[axis]
		        same(errno.EINVAL, disk.store(file, word), f"{modes}: {word} into {file}")
		        same((inflight, "off", ticks, clock), disk.modes(), f"{modes} after {word}")
		    same(errno.EINVAL, disk.store("tally/mode_pending", "shared"))
		    same(before, disk.read("tally/switches"), f"switches at {modes}")
		assert refused > 50, refused
	END
	tallyctl set disk linux-5.0
	fails_with 1 'ticks=sampled' tallyctl set disk inflight=native
	fails_with 1 'pending=percpu' tallyctl set disk pending=percpu
	fails_with 1 'ticks=round.*inflight=off' tallyctl set disk none ticks=round
	same linux-5.0 "$(sysfs tram0 profile)"
}

test_round_trips_of_profiles_and_modes()
{
	local profile axis word
	load_modules
	tallyctl ram add disk --size 1M --profile percpu-v1
	same percpu-v1 "$(sysfs disk profile)"
	same "none linux-4.20 percpu-v1 linux-5.0 linux-5.18 linux-6.10 native" \
		"$(sysfs disk profiles)"
	for profile in $(sysfs disk profiles); do
		sysfs disk profile "$profile"
		same "$profile" "$(sysfs disk profile)"
		same "$profile" "$(sysfs disk effective)"
		sysfs disk profile none
		tallyctl set disk "$profile"
		same "$profile" "$(sysfs disk profile)"
		same off "$(sysfs disk mode_pending)"
	done
	# What no profile is, and what one turns out to be.
	sysfs disk profile linux-5.0
	sysfs disk mode_ticks exact
	same custom "$(sysfs disk profile)"
	same custom "$(sysfs disk effective)"
	sysfs disk mode_ticks sampled
	same linux-5.0 "$(sysfs disk profile)"
	same percpu "$(sysfs disk mode_inflight)"
	same jiffies "$(sysfs disk mode_clock)"
	tallyctl set disk linux-4.20 ticks=exact clock=ns
	same "custom shared off exact ns" "$(sysfs disk profile) $(sysfs disk mode_inflight) \
$(sysfs disk mode_pending) $(sysfs disk mode_ticks) $(sysfs disk mode_clock)"
	tallyctl set disk profile=none inflight=split
	same "custom split off off off" "$(sysfs disk profile) $(sysfs disk mode_inflight) \
$(sysfs disk mode_pending) $(sysfs disk mode_ticks) $(sysfs disk mode_clock)"
	refused 'Invalid argument' sysfs disk profile custom
	fails_with 1 'custom' tallyctl set disk custom
}

test_switches_are_counted()
{
	load_modules
	tallyctl ram add disk --size 1M
	same 0 "$(sysfs disk switches)"
	sysfs disk profile none # as it is: no switch
	same 0 "$(sysfs disk switches)"
	sysfs disk profile linux-5.0
	sysfs disk mode_clock ns
	sysfs disk mode_clock ns
	same 2 "$(sysfs disk switches)"
	refused 'Invalid argument' sysfs disk mode_clock sundial
	same 2 "$(sysfs disk switches)"
	sysfs disk profile percpu-v1
	sysfs disk profile linux-5.0 # the same modes, where nothing is pending
	same linux-5.0 "$(sysfs disk profile)"
	same 3 "$(sysfs disk switches)"
}

test_H04_stores_of_junk()
{
	load_modules
	tallyctl ram add disk --size 1M
	tallyctl create m --table "0 2048 linear $(dev_of disk) 0"
	python "$(disk_of disk)" "$(disk_of m)" <<-'END'
		import errno, sys
		from blktally import *
		fine = {"profile": "none", "mode_inflight": "shared", "mode_pending": "off",
		        "mode_ticks": "exact", "mode_clock": "ns", "shadow": "1"}
		for name in sys.argv[1:]:
		    disk = Disk(name)
		    disk.write("tally/profile", "linux-5.0")
		    def state():
		        return disk.modes(), disk.read("tally/switches"), disk.read("tally/shadow").split()[0]
		    for file, word in fine.items():
		        before = state()
		        for junk in ("\n", " ", f" {word}", f"{word} ", f"{word} x", f"{word}\nx",
		                     f"{word}\n\n", f"\n{word}", f"{word}\0", f"{word}\0x", f"\0{word}",
		                     f"{word}\0\n", word[:-1], word + word, word.upper(), "x" * 31, "x" * 32,
		                     "x" * 4095, "x" * 4096, word.ljust(4096), word.ljust(4096, "\0"),
		                     word + "\t", "0", "-1", "+1", "0x1", "01", "9" * 4096, "\xff", "custom",
		                     "%s%n"):
		            if file == "shadow" and junk in ("", "0", "1"):
		                continue	# no junk there
		            same(errno.EINVAL, disk.store(f"tally/{file}", junk),
		                 f"{junk[:40]!r} into {file} of {name}")
		        same(0, disk.store(f"tally/{file}", ""), "nothing is nothing")
		        same(before, state(), f"after junk into {file} of {name}")
		        # A newline is one too many only from the second on.
		        disk.write(f"tally/{file}", word + "\n")
		        disk.write(f"tally/{file}", word)
		        same(word, disk.read(f"tally/{file}").split()[0])
		        disk.write("tally/profile", "linux-5.0")
		    for file in ("inflight", "stat", "profiles", "effective", "switches", "name", "uuid"):
		        same(0o444, os.stat(f"{disk.sysfs}/tally/{file}").st_mode & 0o777, file)
		        try:
		            error = disk.store(f"tally/{file}", "1")
		        except OSError as e:
		            error = e.errno
		        assert error in (errno.EACCES, errno.EIO, errno.EPERM), (file, error)
		    for file in fine:
		        same(0o644, os.stat(f"{disk.sysfs}/tally/{file}").st_mode & 0o777, file)
	END
}

test_stores_need_CAP_SYS_ADMIN()
{
	local file
	load_modules
	tallyctl ram add disk --size 1M --profile linux-5.0
	setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin python3 - \
		"/sys/block/$(disk_of disk)/tally" <<-'END'
		import errno, sys
		for file, word in (("profile", "none"), ("mode_inflight", "shared"), ("mode_ticks", "off"),
		                   ("mode_clock", "ns"), ("mode_pending", "off"), ("profile", "junk")):
		    try:
		        with open(f"{sys.argv[1]}/{file}", "wb", buffering=0) as f:
		            f.write(word.encode())
		        raise SystemExit(f"{word} into {file}: was not refused")
		    except OSError as e:
		        assert e.errno == errno.EPERM, (file, e)
	END
	same linux-5.0 "$(sysfs disk profile)"
	same 0 "$(sysfs disk switches)"
	# All may read.
	same "0 0" "$(setpriv --reuid=65534 --clear-groups cat "/sys/block/$(disk_of disk)/tally/inflight")"
}

test_iostats_off()
{
	local disk profile before
	load_modules
	tallyctl ram add disk --size 1M
	disk=$(disk_of disk)
	settle
	for profile in linux-5.0 linux-4.20 native; do
		sysfs disk profile $profile
		echo 0 >"/sys/block/$disk/queue/iostats"
		same none "$(sysfs disk effective)"
		same $profile "$(sysfs disk profile)"
		before=$(sysfs disk stat)
		dd if="/dev/$disk" of=/dev/null bs=4k count=4 iflag=direct status=none
		same "$before" "$(sysfs disk stat)"
		echo 1 >"/sys/block/$disk/queue/iostats"
		same $profile "$(sysfs disk effective)"
		dd if="/dev/$disk" of=/dev/null bs=4k count=4 iflag=direct status=none
		same $((${before%% *} + 4)) "$(sysfs disk stat | cut -d ' ' -f 1)"
	done
	same "0 0" "$(sysfs disk inflight)"
}

test_iostats_turned_while_in_flight()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		disk = Disk.add(control, sectors=8, backing="null", completion="timer", completion_ns=4 * 10**8)
		settle()
		aio = Aio(disk.node)
		for profile in ("linux-5.0", "linux-4.20", "native"):
		    disk.write("tally/profile", profile)
		    before = disk.stat()
		    aio.submit(False)
		    same("1 0", disk.inflight(), profile)
		    # Newer kernels wait here until the read has ended, older ones do not.
		    disk.write("queue/iostats", "0")
		    aio.submit(True)
		    same("0", disk.inflight().split()[1], f"{profile}, off")
		    disk.write("queue/iostats", "1")
		    aio.submit(True)
		    same("1", disk.inflight().split()[1], f"{profile}, on again")
		    aio.drain()
		    same("0 0", disk.inflight(), profile)
		    after = disk.stat()
		    same((1, 1), (after[0] - before[0], after[4] - before[4]), profile)
		aio.close()
	END
}

# I/Os shorter than a tick add to the times, 1500 of 0.5 ms as one of 0.75 s.
# As many readers as like, and a disk that never falls idle: its time is all of it.
test_A09_time_of_a_busy_disk()
{
	load_modules
	tallyctl ram add disk --size 1M --completion timer --completion-ns 500000
	settle
	python "$(disk_of disk)" <<-'END'
		import json, subprocess, sys
		from blktally import *
		disk = Disk(sys.argv[1])
		for inflight in ("percpu", "shared"):
		    disk.set_modes(inflight, "exact", "ns")
		    busy, begun = disk.stat("stat")[9], time.monotonic()
		    load = subprocess.Popen([os.environ["BIN"] + "/tallybench/tallybench", "run", "--engine",
		                             "kernel", "--device", disk.node, "--depth", "8", "--jobs", "2",
		                             "--runtime", "1500ms", "--json"], stdout=subprocess.PIPE)
		    reads = 0
		    while load.poll() is None:
		        disk.stat("stat")
		        reads += 1
		        time.sleep(0.02)
		    ns = json.loads(load.stdout.read())["total"]["ns"]
		    took = disk.stat("stat")[9] - busy
		    what = f"{inflight}: busy {took} ms of {ns / 1e6} ms, read {reads} times"
		    print(what)
		    assert reads > 5, what
		    assert 0.9 * ns / 1e6 <= took <= ns / 1e6 + 30, what
	END
}

# See tests/vm/tools/lengths.py for what may be asked of which length.
test_A09_times_of_short_IO()
{
	load_modules
	python <<-'END'
		from lengths import *
		disks = timed_disks(Control())
		settle()
		for modes in MODES:
		    for disk, each, ios in disks:
		        disk.set_modes(*modes)
		        for rw, field in (("read", 3), ("write", 7)):
		            before = disk.stat("stat")
		            elapsed = run(disk.node, rw, ios)
		            after, now = disk.stat("tally/stat"), disk.stat("stat")
		            same(after[field], now[field], "both views")
		            took, busy = now[field] - before[field], now[9] - before[9]
		            within(modes, each, ios, took, busy, elapsed,
		                   f"{modes}: {ios} {rw}s of {each} ms took {took} ms, busy {busy} ms, "
		                   f"{elapsed} ms in all")
	END
}

# What a map's times come to beside those of the disk below it, which has the
# same modes: as much, and what the map itself took.
test_A03_A09_times_of_a_map_and_its_lower()
{
	load_modules
	python <<-'END'
		from lengths import *
		control = Control()
		disks = [(low, Disk.map(control, f"over-{low.name}", f"0 2048 linear {low.number()} 0\n"),
		          each, ios) for low, each, ios in timed_disks(control)]
		settle()
		for modes in MODES:
		    for low, up, each, ios in disks:
		        for disk in (low, up):
		            disk.set_modes(*modes)
		        for rw, field in (("read", 3), ("write", 7)):
		            before = {disk: disk.stat("stat") for disk in (low, up)}
		            elapsed = run(up.node, rw, ios)
		            grown = {disk: [b - a for a, b in zip(before[disk], disk.stat("stat"))]
		                     for disk in (low, up)}
		            what = f"{modes}: {ios} {rw}s of {each} ms in {elapsed} ms: " \
		                   f"{grown[low]} below, {grown[up]} above"
		            for disk in (low, up):
		                same(ios, grown[disk][field - 3], what)
		                within(modes, each, ios, grown[disk][field], grown[disk][9], elapsed, what)
		            # The map begins each first and ends it last. Requests the kernel times by ns.
		            if modes[0] != "native" or QUEUE != "mq":
		                assert grown[up][field] >= grown[low][field] - 1, what
		            if modes[1] == "exact":
		                assert grown[up][9] >= grown[low][9] - 2, what
	END
}

# 12 I/Os of 60 ms, 40 ms apart, under each model, on a disk of its own.
test_A03_busy_time_models()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		IOS, LONG, THINK = 12, 0.060, 0.040
		disks = {}
		for ticks in TICKS[1:]:
		    disks[ticks] = Disk.add(control, name=ticks, sectors=8, backing="null",
		                            completion="timer", completion_ns=int(LONG * 1e9))
		disks["native"] = Disk.add(control, name="native", sectors=8, backing="null",
		                           completion="timer", completion_ns=int(LONG * 1e9))
		settle()
		aios = {}
		for ticks, disk in disks.items():
		    aios[ticks] = Aio(disk.node)
		    disk.set_modes(*(("native", "off", "off") if ticks == "native" else ("percpu", ticks, "ns")))
		def busy(view):
		    return {ticks: disk.stat(view)[9] for ticks, disk in disks.items()}
		before, kernel_before = busy("tally/stat"), busy("stat")
		most = dict.fromkeys(disks, 0.0)
		begun = time.monotonic()
		for i in range(IOS):
		    submitted = {}
		    for ticks, aio in aios.items():
		        submitted[ticks] = time.monotonic()
		        aio.submit(i % 2)
		    for ticks, aio in aios.items():
		        aio.drain()
		        most[ticks] += (time.monotonic() - submitted[ticks]) * 1000
		    time.sleep(THINK)
		whole = (time.monotonic() - begun) * 1000
		after, kernel_after = busy("tally/stat"), busy("stat")
		got = {ticks: after[ticks] - before[ticks] for ticks in disks}
		kernel = {ticks: kernel_after[ticks] - kernel_before[ticks] for ticks in disks}
		told = f"of {whole:.0f} ms: {got}; kernel's view {kernel}; at most {most}"
		print(told)
		least = IOS * LONG * 1000
		tick = 1000 / 250
		# The yardstick is right to the ms, between what the timers held and what was seen.
		assert least - 1 <= got["exact"] <= most["exact"] + 1, told
		for ticks in ("round", "elapsed", "checked", "native"):
		    assert least - 2 * tick * IOS <= got[ticks] <= most[ticks] + 2 * tick * IOS, f"{ticks} {told}"
		# It counts jiffies that it sees: two for each I/O, and no more.
		assert IOS * tick * 0.5 <= got["sampled"] <= 2 * tick * (IOS + 1), told
		for ticks in disks:
		    assert kernel[ticks] <= whole + 2 * tick * IOS, f"{ticks} {told}"
		    if ticks not in ("exact", "sampled"):
		        assert abs(kernel[ticks] - got[ticks]) <= 4 * tick * IOS, f"{ticks} {told}"
		for aio in aios.values():
		    aio.close()
	END
}

test_stat_never_goes_backwards_across_switches()
{
	load_modules
	python <<-'END'
		import random
		from blktally import *
		control = Control()
		disk = Disk.add(control, sectors=2048, completion="timer", completion_ns=3000000)
		chance = random.Random(3)
		every = [c for c in COMBINATIONS if legal(*c)]
		aio = Aio(disk.node)
		last = {view: disk.stat(view) for view in ("tally/stat", "stat")}
		names = []
		for flip in range(120):
		    for _ in range(2):
		        aio.submit(chance.randrange(2), 4096 * chance.randrange(256))
		    if flip % 3:
		        name = chance.choice(PROFILES)
		        disk.write("tally/profile", name)
		    else:
		        name = chance.choice(every)
		        disk.set_modes(*name)
		    names.append(name)
		    for view in last:
		        now = disk.stat(view)
		        for field in (0, 2, 3, 4, 6, 7, 9, 10):
		            # The kernel's queue time is an estimate of what is in flight now too.
		            if view == "stat" and field == 10:
		                continue
		            assert now[field] >= last[view][field], \
		                f"field {field + 1} of {view}: {last[view]}, then {now}, by way of {names[-2:]}"
		        last[view] = now
		    aio.reap()
		aio.close()
		same("0 0", disk.inflight())
	END
}
