# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154

DESCRIPTION="what an idle disk costs: less than 64 KiB beside data, requests and per-CPU cells"
LONG="maps sparse_disks"
BEHIND_MQ="null_disks sparse_disks"

# weigh KIND [LOWER]: bytes that a disk of the kind leaves in use, the least of
# three batches: others allocate meanwhile. All from one process, whose own memory
# does not grow.
weigh()
{
	load_modules
	# udevd gives each new disk a process, a record and a watch: not what is weighed.
	without_udevd
	python "$@" <<-'END'
		import gc, sys
		from blktally import *

		DISKS, LIMIT = 100, 64 << 10
		if QUEUE:	# the queue's 64 requests, and twice as many of its scheduler
		    LIMIT += 3 * 64 * 512
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
