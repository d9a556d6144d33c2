# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="caps on I/Os and bandwidth of null and RAM disks"

BEHIND_MQ="a_cap_holds_and_is_smooth a_cap_of_a_disk_in_use"

# A machine that stands still makes a disk slower, never faster: what is too
# much fails at once, too little only if it happens each time.
test_a_cap_holds_and_is_smooth()
{
	load_modules
	python <<-'END'
		from blktally import *
		SECONDS = int(os.environ.get("BLKTALLY_CAP_SECONDS", "3"))
		DEPTH, WINDOW, SLACK = 8, 0.05, 0.004
		control = Control()
		disk = Disk.add(control, backing="null", sectors=1 << 20)

		def ends(block):
		    """When each I/O ended, of as many as the disk takes, from the first one on"""
		    aio = Aio(disk.node, depth=DEPTH, block=block)
		    times = []
		    for _ in range(DEPTH):
		        aio.submit(True)
		    while not times or times[-1] < times[0] + SECONDS:
		        count = aio.reap(1)
		        times += [time.monotonic()] * count
		        for _ in range(count):
		            aio.submit(True)
		    aio.close()
		    return [end - times[0] for end in times]

		def holds(times, cap):
		    """What is too little, or None"""
		    rate = (len(times) - 1) / times[-1]
		    windows = [0] * int(SECONDS / WINDOW)
		    for end in times:
		        if end < len(windows) * WINDOW:
		            windows[int(end / WINDOW)] += 1
		    most = cap * (WINDOW + SLACK) + DEPTH
		    assert rate <= 1.02 * cap, f"{rate:.1f} a second, capped at {cap}"
		    assert max(windows) <= most, f"{max(windows)} in 50 ms, capped at {cap} a second"
		    even = sum(abs(n - cap * WINDOW) <= 0.2 * cap * WINDOW for n in windows)
		    print(f"cap {cap}: {rate:.1f} a second, {even} of {len(windows)} windows of 50 ms even, "
		          f"{min(windows)} to {max(windows)}")
		    if rate < 0.98 * cap:
		        return f"{rate:.1f} a second, capped at {cap}"
		    return None if even >= 0.9 * len(windows) else f"uneven: {windows}"

		for setting, value, block, cap in (("iops", 500, 4096, 500), ("iops", 2000, 65536, 2000),
		                                   ("bandwidth", 32 << 20, 65536, 512)):
		    disk.write(f"ram/{setting}", str(value))
		    same(str(value), disk.read(f"ram/{setting}"))
		    for _ in range(4):
		        wrong = holds(ends(block), cap)
		        if not wrong:
		            break
		    assert not wrong, f"{setting}={value}: {wrong}"
		    disk.write(f"ram/{setting}", "0")
	END
}

test_a_cap_of_a_disk_in_use()
{
	load_modules
	python <<-'END'
		from blktally import *
		control = Control()
		disk = Disk.add(control, backing="null", completion="inline", sectors=1 << 20)
		aio = Aio(disk.node, depth=8)

		def took(ios):
		    start = time.monotonic()
		    for _ in range(ios):
		        if aio.flying == 8:
		            aio.reap(1)
		        aio.submit(True)
		    aio.drain()
		    return time.monotonic() - start

		took(100)
		for _ in range(3):
		    for _ in range(4):
		        aio.submit(True)
		    disk.write("ram/iops", "200")	# waits for those in flight
		    seconds = took(60)
		    assert seconds >= 60 / 200 - 0.005, f"60 I/Os at 200 a second took {seconds:.3f} s"
		    for _ in range(4):
		        aio.submit(True)
		    disk.write("ram/iops", "100")
		    seconds = took(20)
		    assert seconds >= 20 / 100 - 0.005, f"20 I/Os at 100 a second took {seconds:.3f} s"
		    disk.write("ram/iops", "0")
		    free = min(took(60) for _ in range(3))
		    assert free < 60 / 200, f"60 I/Os without a cap took {free:.3f} s"
		# An idle disk makes up for nothing.
		disk.write("ram/iops", "200")
		time.sleep(0.5)
		seconds = took(40)
		assert seconds >= 40 / 200 - 0.005, f"40 I/Os at 200 a second took {seconds:.3f} s after rest"
		with open("/proc/timer_list", encoding="ascii") as f:
		    timers = [line for line in f if "[tally_ram]" in line or "timer_fired" in line]
		same([], timers, "timers of an idle disk")
		# The stricter of the two counts, a discard has no bytes.
		disk.write("ram/iops", "0")
		disk.write("ram/bandwidth", str(1 << 20))
		fd = os.open(disk.node, os.O_RDWR)
		start = time.monotonic()
		same(0, block_range(fd, BLKDISCARD, 0, 512 << 20))
		assert time.monotonic() - start < 5, "a discard was held up by the bandwidth"
		os.close(fd)
		disk.write("ram/iops", "1000")
		seconds = took(64)
		assert seconds >= 64 / 256 - 0.005, f"64 of 4 KiB at 1 MiB a second took {seconds:.3f} s"
		disk.write("ram/iops", "100")
		seconds = took(30)
		assert seconds >= 30 / 100 - 0.005, f"30 I/Os at 100 a second took {seconds:.3f} s"
		aio.close()
		same("0 0", disk.inflight())
		control.remove(disk.read("tally/name"))
	END
}

test_refused_caps()
{
	load_modules
	tallyctl ram add polled --size 1M --queue mq --poll-queues 1 --backing null
	tallyctl ram add plain --size 1M --backing null
	fails_with 1 "iops=1000: not with polled queues" tallyctl ram set polled iops=1000
	fails_with 1 "bandwidth=65536: not with polled queues" tallyctl ram set polled bandwidth=65536
	fails_with 1 "iops=10000001: at most 10000000" tallyctl ram set plain iops=10000001
	fails_with 1 "bandwidth=65535: from 65536 to 1099511627776" tallyctl ram set plain bandwidth=65535
	fails_with 1 "from 65536 to 1099511627776" tallyctl ram set plain bandwidth=1099511627777
	fails_with 1 "iops=-1: not a number" tallyctl ram set plain iops=-1
	same "bandwidth=0 iops=0" "$(caps_of polled)"
	same "bandwidth=0 iops=0" "$(caps_of plain)"
	tallyctl ram set plain iops=10000000 bandwidth=1T
	same "bandwidth=1099511627776 iops=10000000" "$(caps_of plain)"
}

caps_of() { tallyctl ram show "$1" | grep -E "^(iops|bandwidth)=" | sort | xargs; }
