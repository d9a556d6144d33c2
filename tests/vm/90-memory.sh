# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154

DESCRIPTION="what an idle disk costs: less than 64 KiB beside data, and beside null_blk's behind blk-mq"
LONG="maps sparse_disks null_disks.mq a_thousand_disks"
BEHIND_MQ="null_disks sparse_disks"

# weigh KIND [LOWER]: bytes that a disk of the kind leaves in use, the least of
# three batches: others allocate meanwhile. All from one process, whose own memory
# does not grow. Most of a disk behind blk-mq is the queue's, and its scheduler's:
# null_blk's disks, which have the same, are weighed first.
weigh()
{
	load_modules
	# udevd gives each new disk a process, a record and a watch: not what is weighed.
	without_udevd
	python "$@" <<-'END'
		import gc, subprocess, sys
		from blktally import *

		DISKS, LIMIT = 100, 64 << 10
		control = Control()
		kind = sys.argv[1]

		def free():
		    gc.collect()
		    os.sync()
		    with open("/proc/sys/vm/drop_caches", "w") as file:
		        file.write("3")
		    with open("/proc/meminfo") as file:
		        fields = dict(line.split(":") for line in file)
		    return sum(int(fields[f].split()[0]) << 10 for f in ("MemFree", "Percpu"))

		names = [f"{kind}{n}" for n in range(4 * DISKS)]

		def add(name):
		    if kind != "map":
		        options = {"backing": "null"} if kind == "null" else {"store": "sparse"}
		        control.must("RAM_ADD", ram_add(name, sectors=1 << 21, **options))
		        return
		    control.must("MAP_CREATE", text(name, 128))
		    table = f"0 2048 linear {sys.argv[2]} 0\n".encode()
		    held = ctypes.create_string_buffer(table, len(table))
		    control.must("MAP_LOAD", ref(name) + struct.pack("<QII", ctypes.addressof(held),
		                                                     len(table), 0))
		    control.must("MAP_RESUME", ref(name))

		def run(*command):
		    subprocess.run(command, check=True)

		def null_blk():
		    before = free()
		    run("modprobe", "null_blk", f"nr_devices={DISKS}", "queue_mode=2", "submit_queues=1",
		        "hw_queue_depth=64")
		    cost = (before - free()) // DISKS
		    run("modprobe", "-r", "null_blk")
		    return cost

		if QUEUE:
		    run("modprobe", "configfs")
		    peer = [null_blk() for _ in range(4)]
		    print(f"null_blk: {peer} bytes per idle disk")
		    LIMIT += min(peer[1:])

		costs = []
		for batch in range(4):
		    before = free()
		    for name in names[batch * DISKS:(batch + 1) * DISKS]:
		        add(name)
		    costs.append((before - free()) // DISKS)
		for name in names:
		    control.must("MAP_REMOVE" if kind == "map" else "RAM_REMOVE", ref(name))
		cost = min(costs[1:])
		print(f"{kind}: {costs} bytes per idle disk")
		assert 0 < cost < LIMIT, f"{kind}: {cost} bytes per disk, limit {LIMIT}"
	END
}

test_null_disks() { weigh null; }
test_sparse_disks() { weigh sparse; }

test_maps()
{
	load_modules
	tallyctl ram add low --backing null --size 1G >/dev/null
	weigh map "$(dev_of low)"
}

# A thousand at once, of each kind, and none has a thread or a timer while it is idle.
test_a_thousand_disks()
{
	load_modules
	without_udevd
	python <<-'END'
		import glob
		from blktally import *

		KINDS = [{"backing": "null"}, {"store": "sparse"}, {"completion": "timer", "completion_ns": 1000},
		         {"backing": "null", "queue": "mq"},
		         {"queue": "mq", "completion": "timer", "completion_ns": 1000, "depth": 8}]
		control = Control()

		def tasks():
		    return len(glob.glob("/proc/[0-9]*/task/[0-9]*"))

		def timers():
		    with open("/proc/timer_list") as file:
		        return [line for line in file if "tally" in line or "ram_" in line]

		before = tasks()
		names = [f"many-{n}" for n in range(1000)]
		for n, name in enumerate(names):
		    control.must("RAM_ADD", ram_add(name, sectors=16, **KINDS[n % len(KINDS)]))
		same([], timers())
		# The kernel's own workers come and go.
		assert tasks() < before + 20, f"{tasks()} tasks, {before} without disks"
		same(1000, len(glob.glob("/sys/block/t*/tally")))
		for name in names:
		    control.must("RAM_REMOVE", ref(name))
	END
	no_trace_left
}
