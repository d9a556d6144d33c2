# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="disks behind blk-mq: data, queues, accounting, time-outs"

test_data_in_every_completion()
{
	load_modules
	python <<-'END'
		import random
		from blktally import *
		control = Control()
		SIZE = 1 << 18
		chance = random.Random(3)
		for store in ("flat", "sparse"):
		    for completion, more in (("inline", {}), ("softirq", {}),
		                             ("timer", dict(completion_ns=50000)),
		                             ("timer", dict(completion_ns=20000, jitter="uniform",
		                                            jitter_ns=20000)),
		                             ("timer", dict(completion_ns=1, jitter="exponential",
		                                            jitter_ns=20000)),
		                             ("softirq", dict(poll_queues=1, submit_queues=2, depth=1))):
		        what = f"{store}, {completion} {more}"
		        disk = Disk.add(control, queue="mq", store=store, completion=completion,
		                        block_size=1024, sectors=SIZE // 512, **more)
		        same("1024", disk.read("queue/logical_block_size"), what)
		        image = Image(disk, SIZE, what)
		        for _ in range(25):
		            start, length = image.extent(chance, 1024, (1, 2, 3, 4, 7, 8, 33, 64))
		            if chance.random() < 0.2:
		                image.clear(BLKZEROOUT, start, length)
		            else:
		                image.write(start, chance.randbytes(length))
		        image.check()
		        image.check_cached()	# large requests, merged
		        image.clear(BLKDISCARD, 0, SIZE)
		        image.check()
		        os.fsync(image.fd)
		        image.close()
	END
}

test_queues_and_tags_are_as_asked()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		def queues(disk):
		    return sorted(q for q in os.listdir(f"{disk.sysfs}/mq") if q.isdigit())
		def add(flags=0, **options):
		    return Disk.add(control, flags, queue="mq", backing="null", **options)
		plain = add()
		same(["0"], queues(plain))
		same("64", plain.read("mq/0/nr_tags"))
		same("0", plain.read("queue/io_poll"))
		assert "[none]" not in plain.read("queue/scheduler"), plain.read("queue/scheduler")
		several = add(NO_SCHED, submit_queues=2, poll_queues=1, depth=7)
		same(["0", "1", "2"], queues(several))
		same(["7"] * 3, [several.read(f"mq/{q}/nr_tags") for q in queues(several)])
		same("1", several.read("queue/io_poll"))
		assert "[none]" in several.read("queue/scheduler"), several.read("queue/scheduler")
		assert several.read("mq/0/cpu_list") and several.read("mq/1/cpu_list")
		nodes = len([n for n in os.listdir("/sys/devices/system/node") if n.startswith("node")])
		same(nodes, len(queues(add(PER_NODE))))
		# Disks that share tags have no more of them together than one has.
		one, other = (add(SHARED_TAGS, depth=4, completion="timer", completion_ns=3 * 10**8,
		                  profile="linux-5.0") for _ in range(2))
		alone = add(depth=4, completion="timer", completion_ns=3 * 10**8, profile="linux-5.0")
		settle()
		def flying():
		    return [sum(map(int, disk.inflight().split())) for disk in (one, other, alone)]
		aios = [Aio(disk.node) for disk in (one, other, alone)]
		for aio in aios:
		    for _ in range(8):
		        aio.submit(False)
		wait_until(lambda: flying()[2] == 4, "four in flight on the one that is alone")
		seen = [flying() for _ in range(20)]
		assert 0 < max(now[0] + now[1] for now in seen) <= 4, f"{seen} in flight with four tags"
		for aio in aios:
		    aio.close()
		# Nor has a disk whose queues share them; by CPU the I/O goes to either.
		both = add(TAG_BITMAP | NO_SCHED, submit_queues=2, depth=4, completion="timer",
		           completion_ns=3 * 10**8, profile="linux-5.0")
		settle()
		aio = Aio(both.node)
		import threading
		def submit(cpu):
		    os.sched_setaffinity(0, {cpu})
		    for _ in range(6):
		        aio.submit(False)
		threads = [threading.Thread(target=submit, args=[cpu]) for cpu in range(min(2, os.cpu_count()))]
		for thread in threads:
		    thread.start()
		wait_until(lambda: both.inflight() == "4 0", "four in flight over both queues")
		seen = {both.inflight() for _ in range(20)}
		assert all(int(now.split()[0]) <= 4 for now in seen), seen
		for thread in threads:
		    thread.join()
		aio.close()
	END
}

# By the kernel's threads and by system calls, in every profile, also of partitions.
test_counts_in_every_profile()
{
	load_modules
	python <<-'END'
		import subprocess
		from blktally import *
		control = Control()
		for options in (dict(completion="inline"), dict(completion="timer", completion_ns=30000),
		                dict(completion="softirq", submit_queues=2)):
		    disk = Disk.add(control, queue="mq", backing="null", sectors=4096, **options)
		    settle()
		    subprocess.run(["addpart", disk.node, "1", "8", "2048"], check=True)
		    settle()
		    fd = os.open(f"{disk.node}p1", os.O_RDWR | os.O_DIRECT)
		    buffer = direct_buffer(4096)
		    for profile in PROFILES:
		        disk.write("tally/profile", profile)
		        native = profile == "native"
		        same("1" if native else "0", disk.read("queue/iostats"), profile)
		        same(profile, disk.read("tally/effective"))
		        before, kernels = disk.stat(), disk.stat("stat")
		        for i in range(20):
		            os.preadv(fd, [buffer], 0)
		            if i % 2:
		                os.pwritev(fd, [buffer], 4096)
		        after, kernels_after = disk.stat(), disk.stat("stat")
		        counts = profile != "none"
		        for was, now in ((before, after), (kernels, kernels_after)):
		            same(20 * counts, now[0] - was[0], f"{profile}: reads")
		            same(160 * counts, now[2] - was[2], f"{profile}: sectors read")
		            same(10 * counts, now[4] - was[4], f"{profile}: writes")
		        same("0 0", disk.inflight())
		    os.close(fd)
	END
}

test_A01_in_flight_in_every_profile()
{
	load_modules
	python <<-'END'
		from blktally import *
		disk = Disk.add(Control(), queue="mq", backing="null", sectors=128, completion="timer",
		                completion_ns=7 * 10**8)
		settle()
		aio = Aio(disk.node)
		for profile in PROFILES:
		    disk.write("tally/profile", profile)
		    for i in range(5):
		        aio.submit(i > 2, 8192 * i)	# none that two would make one of
		    wanted = "0 0" if profile == "none" else "3 2"
		    wait_until(lambda: disk.inflight() == wanted, f"{profile}: {disk.inflight()}")
		    while aio.flying:
		        aio.reap(aio.flying)
		    same("0 0", disk.inflight(), profile)
		aio.close()
	END
}

# What queue/iostats says holds, whoever wrote it, until the next change to or from native.
test_iostats_of_mq()
{
	load_modules
	python <<-'END'
		from blktally import *
		disk = Disk.add(Control(), queue="mq", backing="null", sectors=64, profile="linux-5.0")
		settle()
		fd = os.open(disk.node, os.O_RDONLY | os.O_DIRECT)
		buffer = direct_buffer(4096)
		def reads():
		    was = disk.stat()[0]
		    os.preadv(fd, [buffer], 0)
		    return disk.stat()[0] - was
		same(("0", "linux-5.0", 1), (disk.read("queue/iostats"), disk.read("tally/effective"), reads()))
		disk.write("queue/iostats", "1")	# now the kernel counts, and we do not beside it
		same(("native", 1), (disk.read("tally/effective"), reads()))
		disk.write("tally/profile", "linux-4.20")
		same(("1", "native", 1),
		     (disk.read("queue/iostats"), disk.read("tally/effective"), reads()))
		disk.write("tally/profile", "native")
		disk.write("queue/iostats", "0")
		same(("none", 0), (disk.read("tally/effective"), reads()))
		disk.write("tally/shadow", "1")
		same("0", disk.read("queue/iostats"))
		disk.write("tally/profile", "linux-6.10")
		same(("0", "linux-6.10", 1),
		     (disk.read("queue/iostats"), disk.read("tally/effective"), reads()))
		native = Disk.add(Control(), queue="mq", backing="null", sectors=64, profile="native")
		same("1", native.read("queue/iostats"))
		os.close(fd)
	END
}

test_live_switch_loses_no_IO_of_mq()
{
	load_modules
	python <<-'END'
		import json, subprocess
		from blktally import *
		disk = Disk.add(Control(), queue="mq", backing="null", sectors=8192, completion="softirq",
		                submit_queues=2, profile="linux-5.0")
		settle()
		disk.write("tally/shadow", "1")
		before = disk.stat()
		jobs = [subprocess.Popen([os.environ["BIN"] + "/tallybench/tallybench", "run", "--engine",
		                          engine, "--device", disk.node, "--rw", "randread", "--bs", "4096",
		                          "--jobs", "2", "--depth", depth, "--runtime", "60", "--json"],
		                         stdout=subprocess.PIPE)
		        for engine, depth in (("kernel", "4"), ("psync", "1"))]
		wait_until(lambda: disk.stat()[0] - before[0] > 200, "load")
		counting = [p for p in PROFILES if p != "none"]
		last = before
		for flips in range(40):
		    disk.write("tally/profile", counting[flips % len(counting)])
		    now = disk.stat()
		    for field in (0, 2, 3, 9, 10):
		        assert now[field] >= last[field], f"field {field + 1}: {last}, then {now}"
		    last = now
		same([None] * 2, [job.poll() for job in jobs], "jobs that have ended")
		done = 0
		for job in jobs:
		    job.send_signal(2)
		for job in jobs:
		    report = json.loads(job.communicate(timeout=60)[0])
		    same(0, report["total"]["total_err"])
		    done += report["total"]["read"]["total_ios"]
		wait_until(lambda: disk.inflight() == "0 0", "end of all I/O")
		counted = disk.stat()[0] - before[0]
		assert 0 <= counted - done <= 8, f"{counted} reads counted, {done} done"
		on, checks, differences, _ = map(int, disk.read("tally/shadow").split())
		same((1, 0), (on, differences), f"{checks} checks")
		assert checks >= 30, checks	# some profiles are the same without pending
	END
}

# Verified; system calls that wait do not poll, whatever they ask for.
test_polled()
{
	load_modules
	tallyctl ram add disk --size 4M --queue mq --submit-queues 1 --poll-queues 2 --depth 32 \
		--profile linux-5.0
	settle
	same 1 "$(<"/sys/block/$(disk_of disk)/queue/io_poll")"
	for engine in "pvsync2 --hipri" "io_uring --hipri" \
		"io_uring --hipri --iodepth=16 --iodepth_batch_submit=8"; do
		# shellcheck disable=SC2086
		fio --output="$tmp/fio" --name=job --filename="$(node_of disk)" --direct=1 --bs=4k \
			--rw=randwrite --verify=crc32c --size=1M --ioengine=$engine ||
			fail "$engine: $(cat "$tmp/fio")"
		same '0 0' "$(sysfs disk inflight)"
	done
}

test_removal_with_requests_in_flight()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		disk = Disk.add(control, name="slow", queue="mq", sectors=64, backing="null",
		                completion="timer", completion_ns=10**9, profile="linux-4.20")
		settle()
		aio = Aio(disk.node)
		for i in range(4):
		    aio.submit(i % 2, 4096 * i)
		wait_until(lambda: disk.inflight() == "2 2", "all in flight")
		control.must("RAM_REMOVE", ref("slow"), flags=2)	# waits for them
		same(4, aio.reap())
		same([], control.disks())
		aio.close()
	END
	no_trace_left
}

# The kernel loses completions on purpose, where it can; through a map, too.
test_G08_lost_requests_time_out()
{
	local knobs=/sys/kernel/debug/fail_io_timeout options
	[[ -d $knobs ]] || skip "this kernel cannot fake time-outs (FAIL_IO_TIMEOUT)"
	load_modules
	for options in "" "--completion timer --completion-ns 100000" "--completion softirq" \
		"--poll-queues 1"; do
		# shellcheck disable=SC2086
		tallyctl ram add disk --size 64K --queue mq --depth 4 --profile linux-5.0 $options
		tallyctl create m --table "0 128 linear $(dev_of disk) 0" --profile linux-5.0
		settle
		python "$(disk_of disk)" "$(disk_of m)" "$options" <<-'END'
			import sys
			from blktally import *
			from uring import Uring
			low, up = (Disk(name) for name in sys.argv[1:3])
			options = sys.argv[3]
			low.write("queue/io_timeout", "500")
			buffer = direct_buffer(4096)
			knobs = "/sys/kernel/debug/fail_io_timeout"
			def knob(name, value):
			    with open(f"{knobs}/{name}", "w") as f:
			        f.write(value)
			low.write("io-timeout-fail", "1")
			for disk in (low, up):
			    what = f"{disk.name} with {options}"
			    polled = disk is low and "poll" in options
			    fd = os.open(disk.node, os.O_RDONLY | os.O_DIRECT)
			    ring = Uring(disk.node) if polled else None
			    def read():
			        if ring:
			            ring.submit()
			            return ring.reap(1)[0]
			        try:
			            return os.preadv(fd, [buffer], 0)
			        except OSError as e:
			            return -e.errno
			    knob("probability", "100"); knob("times", "2"); knob("verbose", "0")
			    before = [d.stat()[0] for d in (low, disk)]
			    results = [read() for _ in range(8)]
			    same([-errno.ETIMEDOUT] * 2 + [4096] * 6, results, what)
			    knob("probability", "0")
			    for d, was in zip((low, disk), before):
			        same("0 0", d.inflight(), what)
			        same(8, d.stat()[0] - was, what)
			    if ring:
			        ring.close()
			    os.close(fd)
		END
		tallyctl remove m
		settle
		tallyctl ram remove disk
	done
	no_trace_left
}

test_L01_polled_requests_that_nobody_polls_for_time_out()
{
	load_modules
	python <<-'END'
		from blktally import *
		from uring import Uring
		for completion in ("inline", "softirq"):
		    disk = Disk.add(Control(), queue="mq", backing="null", completion=completion,
		                    poll_queues=1, profile="linux-5.0")
		    disk.write("queue/io_timeout", "500")
		    settle()
		    before = disk.stat()[0]
		    ring = Uring(disk.node)
		    for i in range(4):
		        ring.submit(8192 * i)
		    wait_until(lambda: disk.inflight() == "4 0", "polled reads in flight")
		    wait_until(lambda: disk.inflight() == "0 0", "time-outs")
		    same([-errno.ETIMEDOUT] * 4, ring.reap(4), completion)
		    same(4, disk.stat()[0] - before, completion)
		    ring.close()
	END
}

# Requests end by who polls next, by a switch or a removal, which wait for no time-out, by the close
# of who submitted.
test_L08_polled_requests_whose_poller_or_disk_goes()
{
	load_modules
	python <<-'END'
		from blktally import *
		from uring import Uring
		control = Control()
		def polled(name):
		    disk = Disk.add(control, name=name, queue="mq", backing="null", poll_queues=1,
		                    profile="linux-5.0")
		    settle()
		    ring = Uring(disk.node)
		    submit(disk, ring)
		    return disk, ring
		def submit(disk, ring):
		    for i in range(4):
		        ring.submit(8192 * i)
		    wait_until(lambda: disk.inflight() == "4 0", "polled reads in flight")
		disk, ring = polled("elsewhere")
		other = Uring(disk.node)
		other.submit()
		same([4096], other.reap(1))
		same("0 0", disk.inflight())
		same([4096] * 4, ring.reap(4))
		other.close()
		ring.close()
		disk, ring = polled("removed")
		for change in (lambda: disk.write("tally/profile", "linux-6.10"),
		               lambda: disk.write("ram/size", "65536"),
		               lambda: control.must("RAM_REMOVE", ref("removed"), flags=2)):
		    start = time.monotonic()
		    change()
		    assert time.monotonic() - start < 10, "it waited for a time-out"
		    same([4096] * 4, ring.reap(4))
		    if os.path.exists(disk.sysfs):
		        submit(disk, ring)
		ring.close()
		disk, ring = polled("closed")
		ring.close()
		wait_until(lambda: disk.inflight() == "0 0", "end of all I/O")
		for name in ("elsewhere", "closed"):
		    wait_until(lambda: control.call("RAM_REMOVE", ref(name))[0] == 0, "removal")
	END
	no_trace_left
}

# Tags, queues and what hangs on them go with the disk, however many the next one has; kmemleak
# looks, where it is.
test_M03_fewer_queues_than_before()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		cpus = os.cpu_count()
		def some(disk):
		    return sorted(q for q in os.listdir(f"{disk.sysfs}/mq") if q.isdigit())
		for n in range(50):
		    for submit, poll, depth in ((cpus, cpus, 64), (cpus, 0, 8), (1, 1, 64), (1, 0, 1)):
		        flags = SHARED_TAGS if n % 2 else 0
		        disk = Disk.add(control, flags, name="disk", queue="mq", backing="null", depth=depth,
		                        submit_queues=submit, poll_queues=poll)
		        same(submit + poll, len(some(disk)))
		        control.must("RAM_REMOVE", ref("disk"), flags=2)
	END
	no_trace_left
}

test_what_does_not_go_together()
{
	load_modules
	local options
	for options in "--submit-queues 1" "--poll-queues 1" "--depth 1" "--per-node" "--shared-tags" \
		"--tag-bitmap" "--no-sched" "--blocking" "--max-sectors 8" "--virt-boundary"; do
		# shellcheck disable=SC2086
		refused 'only with queue=mq' tallyctl ram add x --size 1M $options
	done
	refused 'submit_queues=65536: at most' tallyctl ram add x --size 1M --queue mq \
		--submit-queues 65536
	refused 'poll_queues=65536: at most' tallyctl ram add x --size 1M --queue mq --poll-queues 65536
	refused 'depth=10241: at most 10240' tallyctl ram add x --size 1M --queue mq --depth 10241
	refused 'max_sectors=9: must be a multiple of 8' tallyctl ram add x --size 1M --queue mq \
		--max-sectors 9
	refused 'per_node says how many' tallyctl ram add x --size 1M --queue mq --per-node \
		--submit-queues 1
	refused 'not one of bio, mq' tallyctl ram add x --size 1M --queue rq
	refused 'only with completion=timer' tallyctl ram add x --size 1M --jitter uniform --jitter-ns 1
	refused 'jitter_ns=0: goes with' tallyctl ram add x --size 1M --completion timer --jitter uniform
	refused 'jitter_ns=5: goes with' tallyctl ram add x --size 1M --completion timer --jitter-ns 5
	refused 'jitter_ns=20: at most completion_ns, which is 10' tallyctl ram add x --size 1M \
		--completion timer --completion-ns 10 --jitter uniform --jitter-ns 20
	refused 'jitter_ns=625000000: with completion_ns=16 at most 624999999' tallyctl ram add x \
		--size 1M --completion timer --completion-ns 16 --jitter exponential --jitter-ns 625000000
	refused 'jitter_ns=6000000000: .* at most 4000000000' tallyctl ram add x --size 1M \
		--completion timer --completion-ns 6000000000 --jitter uniform --jitter-ns 6000000000
	same '' "$(our_disks)"
}

# What is larger, or has gaps, comes in parts; in all it is the same data.
test_max_sectors_and_virt_boundary()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		SIZE = 1 << 20
		small = Disk.add(control, queue="mq", max_sectors=16, sectors=SIZE // 512, profile="linux-5.0")
		same("8", small.read("queue/max_hw_sectors_kb"))
		image = Image(small, SIZE, "max_sectors")
		before = small.stat()
		image.write(0, os.urandom(1 << 16))
		after = small.stat()
		same((8, 128), (after[4] - before[4], after[6] - before[6]), "writes and their sectors")
		image.check()
		image.close()
		gaps = Disk.add(control, VIRT_BOUNDARY, queue="mq", sectors=SIZE // 512, profile="linux-5.0")
		same("4095", gaps.read("queue/virt_boundary_mask"))
		fd = os.open(gaps.node, os.O_RDWR | os.O_DIRECT)
		data = direct_buffer(8192)
		data[:] = os.urandom(8192)
		half = [memoryview(data)[512:1024], memoryview(data)[4096:5632]]
		before = gaps.stat()
		same(2048, os.pwritev(fd, half, 0))
		same(2, gaps.stat()[4] - before[4], "writes")	# one may not hold both
		back = memoryview(direct_buffer(2048))[:2048]
		same(2048, os.preadv(fd, [back], 0))
		assert back == b"".join(half)
		os.close(fd)
	END
}

test_disks_of_the_module_parameters()
{
	load_module tally_core
	load_module tally_ram nr_devices=2 size_mb=1 queue=mq submit_queues=2 poll_queues=1 depth=9 \
		no_sched=1 shared_tags=1 completion=timer completion_ns=1000 jitter=uniform jitter_ns=500
	same 9 "$(cat /sys/block/tram1/mq/2/nr_tags)"
	matches '\[none\]' "$(cat /sys/block/tram0/queue/scheduler)"
	matches 'ram flat mq timer' "$(tallyctl ram list)"
	settle
	rmmod tally_ram
	refuses 'depth=1: only with queue=mq' nr_devices=1 size_mb=1 depth=1
	refuses 'blocking=1: only with queue=mq' nr_devices=1 size_mb=1 blocking=1
	no_trace_left
}

test_junk_in_the_module_parameters()
{
	local junk
	load_module tally_core
	for junk in queue=rq jitter=much submit_queues=4x poll_queues=-1 depth=4x depth=-1 \
		blocking=maybe no_sched=2 max_sectors=many virt_boundary=x; do
		refused 'Invalid' insmod "$kmod/tally_ram.ko" nr_devices=1 size_mb=1 "$junk"
		not loaded tally_ram
		same '' "$(our_disks)" "disks after $junk"
	done
}

test_fewer_queues_of_the_module_parameters()
{
	local shape
	load_module tally_core
	for shape in "submit_queues=2 poll_queues=2 depth=64" "submit_queues=1 poll_queues=0 depth=1" \
		"submit_queues=2 poll_queues=0 depth=4"; do
		# shellcheck disable=SC2086
		load_module tally_ram nr_devices=2 size_mb=1 queue=mq shared_tags=1 $shape
		settle
		rmmod tally_ram
	done
	no_trace_left
}

# How long I/O takes on the mean is what was asked for, in either kind of queue.
test_jitter_has_the_mean_that_was_asked_for()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		COUNT = 300
		for queue in ("bio", "mq"):
		    for jitter, base, mean in (("uniform", 10**6, 10**6), ("exponential", 1, 10**6)):
		        disk = Disk.add(control, queue=queue, backing="null", sectors=512, completion="timer",
		                        completion_ns=base, jitter=jitter, jitter_ns=10**6)
		        disk.set_modes("percpu", "off", "ns")
		        settle()
		        aio = Aio(disk.node)
		        def each():
		            before = disk.stat()
		            for _ in range(0, COUNT, 10):
		                for _ in range(10):
		                    aio.submit(False)
		                while aio.flying:
		                    aio.reap(aio.flying)
		            after = disk.stat()
		            return (after[3] - before[3]) * 10**6 / (after[0] - before[0])
		        # Its deviation is the mean or less, so that of the sum is 6 %; on a machine that is
		        # busy otherwise timers are late.
		        took = [each() for _ in range(4)]
		        aio.close()
		        assert 0.75 * mean <= min(took) <= 3 * mean, f"{queue} {jitter}: {took} ns each"
		        # Timers are late, never early; with nothing but 20 ms, or none, one end were empty.
		        slow = Disk.add(control, queue=queue, backing="null", sectors=8, completion="timer",
		                        completion_ns=max(1, 20 * base // 10**6 * 10**6), jitter=jitter,
		                        jitter_ns=20 * 10**6)
		        settle()
		        aio = Aio(slow.node)
		        lengths = []
		        for _ in range(40):
		            begun = time.monotonic()
		            aio.submit(False)
		            aio.reap(1)
		            lengths.append((time.monotonic() - begun) * 1000)
		        aio.close()
		        assert min(lengths) < 14 and max(lengths) > 26, f"{queue} {jitter}: {lengths} ms"
	END
}
