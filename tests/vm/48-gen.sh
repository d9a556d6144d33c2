# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="the load generator, by way of tallybench run --engine kernel"
LONG="duration_holds P09_odd_depths_are_reached"
BEHIND_MQ="P09_odd_depths_are_reached counts_are_exact"

# bench DISK OPTION...: a run by the kernel; its JSON goes to $tmp/json
bench()
{
	tallybench run --engine kernel --device "$(node_of "$1")" --json "${@:2}" >"$tmp/json"
}

# report EXPRESSION: of the last run, d
report()
{
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$tmp/json" "$1"
}

test_counts_are_exact()
{
	load_modules
	tallyctl ram add disk --size 4M --profile linux-5.0
	settle
	python "$(disk_of disk)" <<-'END'
		import json, subprocess, sys
		from blktally import *
		disk = Disk(sys.argv[1])
		IOS = 60
		for jobs in (1, 3):
		    for depth in (1, 3, 32):
		        for rw, block in (("read", 512), ("randread", 4096), ("write", 65536),
		                          ("randwrite", 512)):
		            what = f"{rw} of {block}, {jobs} jobs, depth {depth}"
		            before = disk.stat()
		            out = subprocess.run(
		                [os.environ["BIN"] + "/tallybench/tallybench", "run", "--engine", "kernel",
		                 "--device", disk.node, "--rw", rw, "--bs", str(block), "--jobs", str(jobs),
		                 "--depth", str(depth), "--ios", str(IOS), "--json"],
		                check=True, stdout=subprocess.PIPE).stdout
		            after = disk.stat()
		            done = IOS * jobs
		            reads, writes = (done, 0) if rw.endswith("read") else (0, done)
		            wanted = (reads, reads * block // 512, writes, writes * block // 512)
		            same(wanted, tuple(after[i] - before[i] for i in (0, 2, 4, 6)), what)
		            same("0 0", disk.inflight(), what)
		            report = json.loads(out)
		            same(("blktally/run/1", False, jobs), (report["schema"], report["partial"],
		                                                   len(report["jobs"])), what)
		            for part, share in [(report["total"], jobs)] + [(j, 1) for j in report["jobs"]]:
		                same(0, part["total_err"], what)
		                same((IOS * share * bool(reads), IOS * share * bool(writes)),
		                     (part["read"]["total_ios"], part["write"]["total_ios"]), what)
		                same(IOS * share * block,
		                     part["read"]["io_bytes"] + part["write"]["io_bytes"], what)
	END
}

test_depth_and_threads_are_in_flight()
{
	load_modules
	tallyctl ram add disk --size 64K --backing null --completion timer \
		--completion-ns 700000000 --profile linux-4.20
	settle
	tallybench run --engine kernel --device "$(node_of disk)" --rw randread --jobs 2 \
		--depth 5 --ios 10 --json >"$tmp/json" &
	wait_until in_flight disk "10 0"
	wait $!
	same "0 0" "$(sysfs disk inflight)"
	same "(20, 0)" "$(report 'd["total"]["read"]["total_ios"], d["total"]["total_err"]')"
}

test_threads_are_where_they_should_be()
{
	load_modules
	tallyctl ram add disk --size 1M
	settle
	bench disk --cpus 1,0 --jobs 3 --ios 5
	same "[1, 0, 1]" "$(report '[j["cpu"] for j in d["jobs"]]')"
	bench disk --cpus 1 --jobs 2 --ios 5
	same "[1, 1]" "$(report '[j["cpu"] for j in d["jobs"]]')"
	fails_with 2 'CPU|cpus' tallybench run --engine kernel --device "$(node_of disk)" \
		--cpus 7 --ios 1
}

test_writes_what_it_may()
{
	local node
	load_modules
	tallyctl ram add disk --size 1M
	node=$(node_of disk)
	settle
	# Reads unless asked to write.
	write_pattern "$node" 1 0 $((1 << 20))
	bench disk --bs 4096 --jobs 2 --depth 4 --ios 300
	check_pattern "$node" 1 0 $((1 << 20))
	# Only inside the part that was named.
	bench disk --rw randwrite --bs 4096 --offset 256K --size 256K --jobs 2 --depth 4 --ios 300
	check_pattern "$node" 1 0 $((256 << 10))
	cmp <(pattern 1 $((1 << 20)) | tail -c $((512 << 10))) <(tail -c $((512 << 10)) "$node")
	not check_pattern "$node" 1 0 $((1 << 20)) 2>/dev/null
}

test_leaves_foreign_disks_alone()
{
	local why
	load_modules
	modprobe brd rd_nr=1 rd_size=1024 max_part=0
	settle
	write_pattern /dev/ram0 1 0 $((1 << 20))
	tallybench run --engine kernel --device /dev/ram0 --ios 50 --json >"$tmp/json"
	same 50 "$(report 'd["total"]["read"]["total_ios"]')"
	why='ours|blktally'
	fails_with 4 "$why" tallybench run --engine kernel --device /dev/ram0 --rw write --ios 50
	fails_with 4 "$why" tallybench run --engine psync --device /dev/ram0 --rw write --ios 50
	check_pattern /dev/ram0 1 0 $((1 << 20))
	# By the ioctl as well, whatever the tool thinks.
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		def run(flags, mode, **more):
		    fd = os.open("/dev/ram0", mode)
		    body = struct.pack("<iIIIQQQQQQQ", fd, 1, 1, 512, 1, 0, 0, 0, 0, 0, 0)
		    error, _ = control.call("GEN_RUN", body, flags=flags)
		    os.close(fd)
		    return error
		same(errno.EPERM, run(1, os.O_RDWR))
		assert "ram0" in control.reason, control.reason
		same(errno.EACCES, run(1, os.O_RDONLY))
		same(errno.EACCES, run(5, os.O_RDONLY))
		same(0, run(0, os.O_RDONLY))
	END
	check_pattern /dev/ram0 1 0 $((1 << 20))
	tallybench run --engine kernel --device /dev/ram0 --rw write --ios 50 --force-device \
		>/dev/null
	not check_pattern /dev/ram0 1 0 $((1 << 20)) 2>/dev/null
	# A mounted one not even then.
	mkfs.ext4 -q /dev/ram0
	mkdir "$tmp/mnt"
	mount /dev/ram0 "$tmp/mnt"
	fails_with 4 'mounted' tallybench run --engine kernel --device /dev/ram0 --rw write --ios 5 \
		--force-device
	umount "$tmp/mnt"
	settle
	rmmod brd
}

test_readonly_disk()
{
	load_modules
	tallyctl ram add disk --size 1M -r
	settle
	fails_with 1 'read-only|Read-only|permitted' tallybench run --engine kernel \
		--device "$(node_of disk)" --rw write --ios 5
	bench disk --ios 5
	same 5 "$(report 'd["total"]["read"]["total_ios"]')"
}

test_duration_holds()
{
	local ms begun=$SECONDS
	load_modules
	tallyctl ram add disk --size 1M
	settle
	bench disk --jobs 2 --depth 2 --runtime 1500ms
	ms=$(report 'int(d["total"]["ns"] / 1e6)')
	((ms >= 1050 && ms <= 3000)) || fail "ran $ms ms instead of 1500"
	((SECONDS - begun < 60)) || fail "took $((SECONDS - begun)) s"
	# Whichever comes first.
	bench disk --runtime 60 --ios 20
	same 20 "$(report 'd["total"]["read"]["total_ios"]')"
	bench disk --runtime 500ms --ios 1000000000
	ms=$(report 'int(d["total"]["ns"] / 1e6)')
	((ms >= 350 && ms <= 1500)) || fail "ran $ms ms instead of 500"
	same False "$(report 'd["partial"]')"
}

test_Q03_SIGINT_ends_it()
{
	load_modules
	tallyctl ram add fast --size 1M --profile linux-5.0
	# One page, or who looks at a new disk would wait for each of its pages.
	tallyctl ram add slow --size 4K --backing null --completion timer \
		--completion-ns 4000000000 --profile linux-5.0
	settle
	python "$(node_of fast)" "$(node_of slow)" <<-'END'
		import json, signal, subprocess, sys
		from blktally import *
		fast, slow = (Disk(os.path.basename(node)) for node in sys.argv[1:])
		tool = os.environ["BIN"] + "/tallybench/tallybench"
		for disk, sent in ((fast, signal.SIGINT), (fast, signal.SIGTERM), (slow, signal.SIGINT)):
		    before = disk.stat()[0]
		    job = subprocess.Popen([tool, "run", "--engine", "kernel", "--device", disk.node, "--jobs",
		                            "2", "--depth", "3", "--runtime", "60", "--json"],
		                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		    if disk is fast:
		        wait_until(lambda: disk.stat()[0] > before + 50, "I/O")
		    else:
		        wait_until(lambda: disk.inflight() == "6 0", "I/O in flight")
		    begun = time.monotonic()
		    job.send_signal(sent)
		    out, err = job.communicate(timeout=30)
		    took = time.monotonic() - begun
		    assert took < 10, f"{disk.name}: {took:.2f} s until it ended"
		    same(128 + sent, job.returncode, err)
		    report = json.loads(out)
		    same((True, sent), (report["partial"], report["signal"]))
		    same(0, report["total"]["total_err"])
		    if disk is fast:
		        wait_until(lambda: disk.inflight() == "0 0", "end of all I/O")
		        late = disk.stat()[0] - before - report["total"]["read"]["total_ios"]
		        assert 0 <= late <= 6, f"{late} I/Os are not in the report"
		# What was left in flight ends when it ends, and holds the module until then.
		same("6 0", slow.inflight())
		wait_until(lambda: slow.inflight() == "0 0", "end of the slow I/O")
		def references():
		    with open("/sys/module/tally_gen/refcnt") as f:
		        return int(f.read())
		wait_until(lambda: references() == 0, "threads end")
	END
	rmmod tally_gen
}

# The device does nothing: the command ends all the same, the threads when it goes on.
test_Q03_SIGINT_while_the_device_is_suspended()
{
	load_modules
	tallyctl ram add low --size 1M
	tallyctl create m --table "0 2048 linear $(dev_of low) 0" --profile linux-5.0
	settle
	tallyctl suspend m
	python "$(disk_of m)" <<-'END'
		import json, signal, subprocess, sys
		from blktally import *
		disk = Disk(sys.argv[1])
		tool = os.environ["BIN"] + "/tallybench/tallybench"
		job = subprocess.Popen([tool, "run", "--engine", "kernel", "--device", disk.node, "--jobs", "2",
		                        "--depth", "3", "--runtime", "600", "--json"],
		                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		def threads():
		    with open("/sys/module/tally_gen/refcnt") as f:
		        return int(f.read())
		wait_until(lambda: threads() >= 2, "threads")
		job.send_signal(signal.SIGINT)
		out, err = job.communicate(timeout=30)
		same(128 + signal.SIGINT, job.returncode, err)
		report = json.loads(out)
		same((True, signal.SIGINT, 0, 0), (report["partial"], report["signal"],
		                                   report["total"]["read"]["total_ios"],
		                                   report["total"]["total_err"]))
		same("0 0", disk.inflight())
	END
	tallyctl resume m
	wait_until no_references tally_gen
	wait_until in_flight m '0 0'
	settle
	tallyctl remove m
}

# A window that changes its size, and a debugger or a shell that stops the job.
test_Q01_signals_that_are_not_for_it()
{
	load_modules
	tallyctl ram add disk --size 1M --profile linux-5.0
	settle
	python "$(disk_of disk)" <<-'END'
		import json, signal, subprocess, sys
		from blktally import *
		disk = Disk(sys.argv[1])
		tool = os.environ["BIN"] + "/tallybench/tallybench"
		for engine, anew in (("psync", 0), ("kernel", 1)):
		    before = disk.stat()[0]
		    job = subprocess.Popen([tool, "run", "--engine", engine, "--device", disk.node, "--runtime", "3",
		                            "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		    wait_until(lambda: disk.stat()[0] > before + 20, "I/O")
		    for number in (signal.SIGWINCH, signal.SIGSTOP, signal.SIGCONT):
		        job.send_signal(number)
		        time.sleep(0.1)
		    out, err = job.communicate(timeout=60)
		    same(0, job.returncode, f"{engine}: {err}")
		    report = json.loads(out)
		    same((False, 0), (report["partial"], report["total"]["total_err"]), engine)
		    assert report["total"]["ns"] >= 2.9e9, report["total"]["ns"]
		    same(anew, len([text for text in report["messages"] if "began anew" in text]), engine)
	END
}

# Depths that are no powers of two, up to the limit: all of it is in flight.
test_P09_odd_depths_are_reached()
{
	local depth
	load_modules
	tallyctl ram add disk --size 4K --backing null --completion timer \
		--completion-ns 3000000000 --profile linux-4.20 ${QUEUE:+--depth 4095}
	settle
	for depth in 3 100 1000 4095; do
		tallybench run --engine kernel --device "$(node_of disk)" --depth $depth \
			--ios $((depth + 1)) --json >"$tmp/json" &
		wait_until in_flight disk "$depth 0"
		wait $!
		same "$((depth + 1)) 0" "$(report 'str(d["total"]["read"]["total_ios"]) + " " + str(d["total"]["total_err"])')"
		same "0 0" "$(sysfs disk inflight)"
	done
}

test_Q08_many_jobs()
{
	local node
	load_modules
	tallyctl ram add disk --size 1M --profile linux-5.0
	node=$(node_of disk)
	settle
	bench disk --jobs 500 --ios 2
	same '500 1000' "$(report 'str(len(d["jobs"])) + " " + str(d["total"]["read"]["total_ios"])')"
	# The time is that of the I/O, from the first that starts.
	same True "$(report 'max(j["ns"] for j in d["jobs"]) <= d["total"]["ns"]')"
	# Where a user may have few processes the limit is named, and nobody waits.
	cp "$bin/tallybench/tallybench" "$tmp/bench"
	chmod -R go+rX "$tmp" "${tmp%/*}"
	chmod go+r "$node"
	fails_with 1 'thread|[Rr]esource' setpriv --reuid 65534 --regid 65534 --clear-groups \
		prlimit --nproc=20 "$tmp/bench" run --engine psync --device "$node" --jobs 200 --ios 1
}

test_Q06_CPUs_off_line()
{
	local last=$(($(nproc) - 1)) cpu=/sys/devices/system/cpu/cpu1/online
	[[ -e $cpu ]] || skip "one CPU only"
	load_modules
	tallyctl ram add disk --size 1M
	settle
	trap 'echo 1 >'$cpu EXIT
	echo 0 >$cpu
	fails_with 2 'CPU 1 is not on line: 0.* (is|are)' tallybench run --engine kernel \
		--device "$(node_of disk)" --cpus 1 --ios 1
	for engine in kernel psync; do
		tallybench run --engine $engine --device "$(node_of disk)" --jobs 3 --ios 5 --json >"$tmp/json"
		same False "$(report '1 in [j["cpu"] for j in d["jobs"]]')" "$engine"
	done
	if ((last > 1)); then # a number beyond how many there are
		bench disk --cpus "0,$last" --jobs 2 --ios 5
		same "[0, $last]" "$(report '[j["cpu"] for j in d["jobs"]]')"
	fi
	echo 1 >$cpu
	bench disk --cpus "$last" --ios 5
	same "[$last]" "$(report '[j["cpu"] for j in d["jobs"]]')"
}

test_P07_bad_numbers()
{
	local node
	load_modules
	tallyctl ram add disk --size 1M --block-size 4096
	node=$(node_of disk)
	settle
	bad() { fails_with "$1" "$2" tallybench run --engine kernel --device "$node" "${@:3}"; }
	bad 2 '0.*1024' --jobs 0 --ios 1
	bad 2 '1025.*1024' --jobs 1025 --ios 1
	bad 2 '0.*4096' --depth 0 --ios 1
	bad 2 '4097.*4096' --depth 4097 --ios 1
	bad 2 'ios.*0' --ios 0
	bad 2 '-1' --ios=-1
	bad 2 '1x' --ios 1x
	bad 2 '18446744073709551616' --ios 18446744073709551616
	bad 2 'jobs' --jobs '' --ios 1
	bad 2 '512.*4096' --bs 512 --ios 1
	bad 2 '6144.*4096' --bs 6K --ios 1
	bad 2 '2097152.*1048576' --bs 2M --ios 1
	bad 2 '2097152.*1048576' --bs 4096 --offset 2M --ios 1
	bad 2 '2097152.*1048576' --bs 4096 --size 2M --ios 1
	fails_with 3 'nowhere' tallybench run --engine kernel --device /dev/nowhere --ios 1
	same 0 "$(references tally_gen)"
	same 0 "$(sysfs disk stat | cut -d ' ' -f 1)"
}

test_limits_of_the_ioctl()
{
	load_modules
	tallyctl ram add disk --size 64K
	settle
	python "$(node_of disk)" <<-'END'
		import errno, sys
		from blktally import *
		control = Control()
		disk = os.open(sys.argv[1], os.O_RDONLY)
		null = os.open("/dev/null", os.O_RDWR)
		def body(fd=disk, threads=1, depth=1, block=512, ios=1, ns=0, start=0, span=0, seed=0, cpus=0,
		         results=0):
		    return struct.pack("<iIIIQQQQQQQ", fd, threads, depth, block, ios, ns, start, span, seed,
		                       cpus, results)
		def bad(wanted, why="", flags=0, **numbers):
		    control.refused(wanted, "GEN_RUN", body(**numbers), flags=flags, why=why)
		for threads in (0, 1025, 1 << 31, (1 << 32) - 1):
		    bad(errno.EINVAL, "1024", threads=threads)
		for depth in (0, 4097, (1 << 32) - 1):
		    bad(errno.EINVAL, "4096", depth=depth)
		for block in (0, (1 << 20) + 512, (1 << 32) - 1):
		    bad(errno.EINVAL, "1048576", block=block)
		for block in (1, 511, 513):
		    bad(errno.EINVAL, str(block), block=block)
		bad(errno.EINVAL, "duration", ios=0)
		bad(errno.EINVAL, "128", start=129)
		bad(errno.EINVAL, "128", start=64, span=65)
		bad(errno.EINVAL, "128", start=(1 << 64) - 1, span=2)
		bad(errno.EINVAL, "128", start=1, span=(1 << 64) - 1)
		bad(errno.EINVAL, "sectors", start=128)
		bad(errno.EINVAL, "131072", block=131072)
		bad(errno.ENOMEM, "memory", threads=1024, depth=4096, block=4096)
		bad(errno.EBADF, fd=-1)
		bad(errno.EBADF, fd=1000)
		bad(errno.ENOTBLK, fd=null)
		bad(errno.EACCES, flags=1)
		cpus = Buffer(8)
		cpus.put(struct.pack("<II", 0, 4096))
		bad(errno.EINVAL, "4096", threads=2, cpus=cpus.address)
		cpus.put(struct.pack("<II", 0, 1))
		bad(errno.EFAULT, threads=3, cpus=cpus.address)
		bad(errno.EFAULT, cpus=8)
		# And it works when all is well; results of threads stay inside their array.
		cpus.put(struct.pack("<II", 1, 0))
		results = Buffer(2 * 40)
		error, out = control.call("GEN_RUN", body(threads=2, ios=25, depth=2, cpus=cpus.address,
		                                          results=results.address))
		same(0, error, control.reason)
		same((50, 50 * 512, 0), struct.unpack_from("<QQQ", out, 96), "total")
		for i, cpu in enumerate((1, 0)):
		    got = struct.unpack_from("<QQQQIi", results.get(), 40 * i)
		    same((25, 25 * 512, 0, cpu, 0), got[:3] + got[4:], f"thread {i}")
		    assert got[3] > 0
	END
	wait_until no_references tally_gen
}

no_references() { (($(references "$1") == 0)); }
