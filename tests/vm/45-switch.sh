# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="accounting switched under load, and CPUs that come and go"
LONG="live_switch_keeps_data M01_CPU_hotplug_under_load shadow_agrees_at_1000_quiesces
	E08_signals_while_a_switch_waits percpu_cells_across_CPUs.mq switch_waits_for_IO_in_flight.mq"
BEHIND_MQ="percpu_cells_across_CPUs M01_CPU_hotplug_under_load shadow_agrees_at_1000_quiesces
	E08_signals_while_a_switch_waits switch_waits_for_IO_in_flight"

# Jobs count what they did: what the disk counted is the same, whatever the
# modes were meanwhile, as long as they count.
test_live_switch_loses_no_IO()
{
	load_modules
	tallyctl ram add disk --size 4M --profile linux-5.0
	settle
	python "$(disk_of disk)" <<-'END'
		import json, subprocess, sys
		from blktally import *
		disk = Disk(sys.argv[1])
		tool = os.environ["BIN"] + "/tallybench/tallybench"
		before = disk.stat()
		jobs = [subprocess.Popen([tool, "run", "--engine", engine, "--device", disk.node, "--rw", rw,
		                          "--bs", "4096", "--jobs", "2", "--depth", depth, "--runtime", "60",
		                          "--json"], stdout=subprocess.PIPE)
		        for engine, rw, depth in (("kernel", "randread", "4"), ("kernel", "randwrite", "1"),
		                                  ("psync", "randread", "1"))]	# one may write
		def busy():
		    now = disk.stat()
		    return now[0] - before[0] > 200 and now[4] - before[4] > 200
		wait_until(busy, "load")
		flips, last = 0, before
		counting = [p for p in PROFILES if p != "none"]
		custom = [("split", "exact", "ns"), ("pernode", "checked", "jiffies"), ("shared", "exact", "ns")]
		while flips < 60:
		    disk.write("tally/profile", counting[flips % len(counting)])
		    if flips % 5 == 0:
		        for axis, word in zip(("clock", "ticks", "inflight"), ("off", "off", "shared")):
		            disk.write(f"tally/mode_{axis}", word)
		        for axis, word in zip(("inflight", "ticks", "clock"), custom[flips // 5 % 3]):
		            disk.write(f"tally/mode_{axis}", word)
		    now = disk.stat()
		    for field in (0, 2, 3, 4, 6, 7, 9, 10):
		        assert now[field] >= last[field], f"field {field + 1}: {last}, then {now}"
		    assert sum(map(int, disk.inflight().split())) <= 2 * 4 + 2 * 2, disk.inflight()
		    last = now
		    flips += 1
		# Still running, all of them.
		same([None] * len(jobs), [job.poll() for job in jobs], "jobs that have ended")
		for job in jobs:
		    job.send_signal(2)
		done = {"read": 0, "write": 0}
		for job in jobs:
		    report = json.loads(job.communicate(timeout=60)[0])
		    same(True, report["partial"])
		    same(0, report["total"]["total_err"])
		    for rw in done:
		        done[rw] += report["total"][rw]["total_ios"]
		wait_until(lambda: disk.inflight() == "0 0", "end of all I/O")
		after = disk.stat()
		# What a kernel thread had in flight at the signal may have ended after the report.
		for rw, ios, sectors, late in (("read", 0, 2, 2 * 4), ("write", 4, 6, 2 * 1)):
		    counted = after[ios] - before[ios]
		    assert 0 <= counted - done[rw] <= late, f"{counted} {rw}s counted, {done[rw]} done"
		    same(counted * 8, after[sectors] - before[sectors], f"sectors of {rw}s")
		assert int(disk.read("tally/switches")) >= 60
	END
}

# fio writes, reads back and compares, through all profiles.
test_live_switch_keeps_data()
{
	local flips=0 fio profile file
	load_modules
	tallyctl ram add disk --size 16M --completion softirq
	settle
	fio --output="$tmp/fio" --output-format=terse --name=job --filename="$(node_of disk)" \
		--allow_file_create=0 --direct=1 --ioengine=psync --rw=randwrite --bs=4k \
		--numjobs=3 --size=4M --offset_increment=4M --verify=crc32c --verify_fatal=1 \
		--verify_backlog=32 \
		--time_based --runtime=12 --group_reporting >"$tmp/out" 2>&1 &
	fio=$!
	sysfs disk profile linux-5.0
	wait_until busy_disk
	file=/sys/block/$(disk_of disk)/tally/profile
	while kill -0 $fio 2>/dev/null; do
		for profile in none linux-4.20 percpu-v1 linux-5.0 linux-5.18 linux-6.10 native; do
			echo $profile >"$file"
			flips=$((flips + 1))
		done
	done
	wait $fio || fail "fio: $(cat "$tmp/out" "$tmp/fio")"
	((flips >= 50)) || fail "only $flips flips"
	# Of the group: KiB that were read, which is what was compared.
	(($(cut -d ';' -f 6 "$tmp/fio") >= 512)) || fail "hardly anything was verified"
	same "0 0" "$(sysfs disk inflight)"
	same "0 0" "$(xargs <"/sys/block/$(disk_of disk)/inflight")"
}

busy_disk() { (($(sysfs disk stat | cut -d ' ' -f 5) > 100)); }

# A switch waits for what is in flight, and a signal ends the wait.
test_switch_waits_for_IO_in_flight()
{
	load_modules
	python <<-'END'
		import signal, subprocess
		from blktally import *
		control = Control()
		disk = Disk.add(control, sectors=8, backing="null", completion="timer",
		                completion_ns=3 * 10**9, profile="linux-5.0")
		settle()
		aio = Aio(disk.node)
		aio.submit(False)
		same("1 0", disk.inflight())
		# In the way of nobody who reads.
		child = subprocess.Popen(["sh", "-c", f"echo native >{disk.sysfs}/tally/profile"])
		def waiting():
		    with open(f"/proc/{child.pid}/wchan") as f:
		        return "freeze" in f.read()
		wait_until(waiting, "the switch waits")
		same("1 0", disk.inflight())
		same(1, disk.stat()[8])
		same("linux-5.0", disk.read("tally/profile"))
		child.send_signal(signal.SIGKILL)
		same(-signal.SIGKILL, child.wait())
		same(0, aio.reap(), "the I/O is still in flight, or this proves nothing")
		same(("percpu", "off", "sampled", "jiffies"), disk.modes())
		aio.submit(True)	# goes on at once
		same("1 1", disk.inflight())
		disk.write("tally/profile", "linux-4.20")
		same(2, aio.reap())
		same("0 0", disk.inflight())
		same("linux-4.20", disk.read("tally/profile"))
		same("1", disk.read("tally/switches"))
		aio.close()
	END
}

# Timers of a CPU that goes off line fire on another: begun here, ended there.
test_percpu_cells_across_CPUs()
{
	[[ -e /sys/devices/system/cpu/cpu1/online ]] || skip "one CPU only"
	load_modules
	python <<-'END'
		import threading
		from blktally import *
		ONLINE = "/sys/devices/system/cpu/cpu1/online"
		def turn(value):
		    with open(ONLINE, "w") as f:
		        f.write(value)
		modes = {"percpu": ("percpu", "checked", "jiffies"), "pernode": ("pernode", "exact", "ns"),
		         "native": ("native", "off", "off"), "round": ("percpu", "round", "ns")}
		disks = {}
		def add(name):	# takes as long as its I/O: all at once
		    disks[name] = Disk.add(Control(), name=name, sectors=8, backing="null",
		                           completion="timer", completion_ns=3 * 10**9)
		threads = [threading.Thread(target=add, args=(name,)) for name in modes]
		for thread in threads:
		    thread.start()
		for thread in threads:
		    thread.join()
		settle()
		aios = {}
		for name, disk in disks.items():
		    disk.set_modes(*modes[name])
		    aios[name] = Aio(disk.node)
		try:
		    os.sched_setaffinity(0, {1})
		    for aio in aios.values():
		        for i in range(3):
		            aio.submit(i == 0)
		    os.sched_setaffinity(0, {0})
		    for name, disk in disks.items():
		        same("2 1", disk.inflight(), f"{name}, before")
		    turn("0")
		    seen = {name: disk.inflight() for name, disk in disks.items()}
		    same(0, sum(aio.reap() for aio in aios.values()), "I/Os that ended early")
		    same(dict.fromkeys(disks, "2 1"), seen, "CPU 1 off line")
		    for name, disk in disks.items():
		        aios[name].drain()
		        same("0 0", disk.inflight(), f"{name}, ended elsewhere")
		        same(["0", "0"], disk.read("inflight").split(), name)
		        same((2, 1), (disk.stat()[0], disk.stat()[4]), name)
		    # CPU 0 has ended more than it began: what it begins now counts all the same.
		    for name, disk in disks.items():
		        aios[name].submit(True)
		        same("0 1", disk.inflight(), f"{name}, a cell is negative")
		    turn("1")
		    seen = {name: disk.inflight() for name, disk in disks.items()}
		    same(0, sum(aio.reap() for aio in aios.values()), "I/Os that ended early")
		    same(dict.fromkeys(disks, "0 1"), seen, "CPU 1 on line again")
		    for name, disk in disks.items():
		        aios[name].drain()
		        disk.write("tally/profile", "linux-5.18")
		        same("0 0", disk.inflight(), f"{name}, under other modes")
		        disk.set_modes(*modes[name])
		        same("0 0", disk.inflight(), f"{name}, and back")
		finally:
		    turn("1")
		for aio in aios.values():
		    aio.close()
	END
}

# Load on a map: it and the disk below count what the jobs did.
test_M01_CPU_hotplug_under_load()
{
	[[ -e /sys/devices/system/cpu/cpu1/online ]] || skip "one CPU only"
	map_over_ram
	without_udevd # it reads what somebody has written to
	python "$(disk_of m)" "$(disk_of disk)" <<-'END'
		import json, subprocess, sys
		from blktally import *
		disks = [Disk(name) for name in sys.argv[1:]]
		tool = os.environ["BIN"] + "/tallybench/tallybench"
		for disk in disks:
		    disk.write("tally/profile", "linux-5.0")
		before = {disk: disk.stat() for disk in disks}
		jobs = [subprocess.Popen([tool, "run", "--engine", engine, "--device", disks[0].node, "--rw", rw,
		                          "--bs", "4096", "--jobs", "2", "--runtime", "60", "--json"],
		                         stdout=subprocess.PIPE)
		        for engine, rw in (("kernel", "randwrite"), ("psync", "randread"))]
		def grown(disk):
		    return [now - then for then, now in zip(before[disk], disk.stat())]
		def busy():
		    return all(grown(disk)[0] > 200 and grown(disk)[4] > 200 for disk in disks)
		wait_until(busy, "load")
		def turn(value):
		    with open("/sys/devices/system/cpu/cpu1/online", "w") as f:
		        f.write(value)
		try:
		    for i in range(10):
		        turn("0")
		        same("0", open("/sys/devices/system/cpu/online").read().strip())
		        disks[i % 2].write("tally/profile", ("linux-4.20", "linux-6.10")[i // 2 % 2])
		        turn("1")
		        disks[i % 2].write("tally/profile", "linux-5.0")
		        for disk in disks:
		            assert sum(map(int, disk.inflight().split())) <= 4, disk.inflight()
		finally:
		    turn("1")
		same([None] * len(jobs), [job.poll() for job in jobs], "jobs that have ended")
		done = {"read": 0, "write": 0}
		for job in jobs:
		    job.send_signal(2)
		for job in jobs:
		    report = json.loads(job.communicate(timeout=60)[0])
		    same(0, report["total"]["total_err"])
		    for rw in done:
		        ios = report["total"][rw]["total_ios"]
		        same(ios, sum(one[rw]["total_ios"] for one in report["jobs"]), "all jobs together")
		        done[rw] += ios
		for disk in disks:
		    wait_until(lambda: disk.inflight() == "0 0", "end of all I/O")
		    # What a kernel thread had in flight at the signal may have ended after the report.
		    for rw, ios, late in (("read", 0, 0), ("write", 4, 2)):
		        counted = grown(disk)[ios]
		        assert 0 <= counted - done[rw] <= late, \
		            f"{disk.name}: {counted} {rw}s counted, {done[rw]} done"
	END
	tallyctl suspend m # ends
	in_flight m '0 0'
	tallyctl resume m
}

# A reader that waits for a switch, which waits for I/O in flight: signals that
# it handles, and those that stop it, are no I/O errors.
test_E08_signals_while_a_switch_waits()
{
	load_modules
	python <<-'END'
		import signal, subprocess
		from blktally import *
		control = Control()
		low = Disk.add(control, name="low", sectors=8, backing="null", completion="timer",
		               completion_ns=4 * 10**9, profile="linux-5.0")
		disks = [low, Disk.map(control, "up", f"0 8 linear {low.number()} 0\n", "linux-5.0")]
		settle()
		def waits(pid, where=""):
		    with open(f"/proc/{pid}/stat") as f, open(f"/proc/{pid}/wchan") as wchan:
		        return f.read().rsplit(") ")[-1][0] == "D" and where in wchan.read()
		for disk in disks:
		    wait_until(lambda: disk.inflight() == "0 0", "idle")
		    aio = Aio(disk.node)
		    aio.submit(True)
		    same("0 1", disk.inflight())
		    switch = subprocess.Popen(["sh", "-c", f"echo native >{disk.sysfs}/tally/profile"])
		    # Before the switch has begun its wait a reader would go through.
		    if disk is low:
		        wait_until(lambda: "freeze" in open(f"/proc/{switch.pid}/wchan").read(), "the switch waits")
		    else:
		        wait_until(lambda: waits(switch.pid), "the switch waits")
		    mark = f"{os.environ['TMP']}/{disk.name}"
		    reader = subprocess.Popen(["tests/vm/tools/disk_io.py", "read", disk.node, "0", mark],
		                              stdout=subprocess.PIPE, text=True)
		    wait_until(lambda: os.path.exists(mark), "the reader starts")
		    wait_until(lambda: waits(reader.pid), "the reader waits")
		    same("0 1", disk.inflight(), "the reader does not get through")
		    same(0, aio.reap(), "the write is still in flight, or this proves nothing")
		    for number in (signal.SIGUSR1, signal.SIGSTOP, signal.SIGCONT, signal.SIGUSR1):
		        reader.send_signal(number)
		    same(None, reader.poll(), "the reader still waits")
		    same(1, aio.reap(1))
		    same(0, switch.wait())
		    got, signals = reader.communicate(timeout=60)[0].split()
		    same("4096", got, f"{disk.name}: what was read")
		    assert signals in ("1", "2"), signals
		    same("native", disk.read("tally/profile"))
		    aio.close()
		    same("0 0", disk.inflight())
	END
}

# Load on a map and its lower, and every flip of either is a quiesce.
test_shadow_agrees_at_1000_quiesces()
{
	map_over_ram
	python "$(disk_of disk)" "$(disk_of m)" <<-'END'
		import subprocess, sys, threading
		from blktally import *
		disks = [Disk(name) for name in sys.argv[1:]]
		tool = os.environ["BIN"] + "/tallybench/tallybench"
		for disk in disks:
		    same("0 0 0 0", disk.read("tally/shadow"))
		    disk.write("tally/profile", "linux-6.10")
		    disk.write("tally/shadow", "1")
		    same("1", disk.read("tally/switches"), "switches")
		jobs = [subprocess.Popen([tool, "run", "--engine", "kernel", "--device", disk.node, "--rw", "randread",
		                          "--bs", "4096", "--jobs", "2", "--depth", "2", "--runtime", "600"],
		                         stdout=subprocess.DEVNULL) for disk in disks]
		for disk in disks:
		    wait_until(lambda: disk.stat()[0] > 200, "load")
		# Neighbours that differ on a disk without a pending counter as well
		profiles = ["linux-4.20", "linux-5.0", "linux-5.18", "linux-6.10", "native", "none"]
		over = threading.Event()
		def read(): # who may meet sums below zero
		    while not over.is_set():
		        for disk in disks:
		            disk.inflight()
		reader = threading.Thread(target=read)
		reader.start()
		for i in range(500):
		    for disk in disks:
		        disk.write("tally/profile", profiles[i % len(profiles)])
		over.set()
		reader.join()
		same([None] * len(jobs), [job.poll() for job in jobs], "jobs that have ended")
		for disk in disks:
		    on, checks, differences, negative = map(int, disk.read("tally/shadow").split())
		    same((1, 500, 0), (on, checks, differences), disk.name)
		    same("501", disk.read("tally/switches"), "switches")
		    print(f"{disk.name}: {negative} sums below zero")
		for job in jobs:
		    job.send_signal(2)
		    job.wait()
	END
	tallyctl suspend m
	matches '^1 501 0 ' "$(sysfs m shadow)"
	tallyctl resume m
	sysfs m shadow 0
	matches '^0 502 0 ' "$(sysfs m shadow)" # to switch it off is a quiesce too
	sysfs m shadow 1
	same '1 0 0 0' "$(sysfs m shadow)"
	local bad
	for bad in 2 '' 10 ' 1' on -1; do
		refused 'Invalid' sysfs m shadow "$bad"
	done
	same '1 0 0 0' "$(sysfs m shadow)"
}

map_over_ram()
{
	load_modules
	tallyctl ram add disk --size 4M --completion softirq >/dev/null
	tallyctl create m --table "0 8192 linear $(dev_of disk) 0" >/dev/null
	settle
}
