# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="the control node: who may, and the protocol of uapi/blktally.h"

nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
powerless() { setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"; }

test_node_is_private()
{
	load_modules
	same 'character special file 600 0:0' "$(stat -c '%F %a %u:%g' "$control")"
	same "$(stat -c '%Hr:%Lr' "$control")" "$(</sys/class/misc/blktally-control/dev)"
	refused 'Permission denied' nobody cat "$control"
	refused 'Invalid argument' cat "$control"
}

test_commands_need_CAP_SYS_ADMIN()
{
	load_module tally_core
	load_module tally_ram nr_devices=1 size_mb=1
	fails_with 4 'ermi' nobody "$bin/tallyctl/tallyctl" info tram0
	# Root may open the node, but without the capability that is all.
	fails_with 4 'CAP_SYS_ADMIN' powerless "$bin/tallyctl/tallyctl" set tram0 linux-5.0
	fails_with 4 'CAP_SYS_ADMIN' powerless "$bin/tallyctl/tallyctl" ram remove tram0
	fails_with 4 'CAP_SYS_ADMIN' powerless "$bin/tallyctl/tallyctl" ram add x --size 1M
	powerless python3 - <<-'END'
		import errno, fcntl
		for nr in range(256):
		    try:
		        with open("/dev/blktally/control", "r+b", buffering=0) as f:
		            fcntl.ioctl(f, 3 << 30 | 296 << 16 | 0xBC << 8 | nr, bytearray(4096))
		        raise AssertionError(f"command {nr} was not refused")
		    except OSError as e:
		        assert e.errno == errno.EPERM, (nr, e)
	END
	same none "$(sysfs tram0 profile)"
	same tram0 "$(our_disks)"
}

test_C10_command_numbers_and_directions()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control, buffer = Control(), Buffer(4096)
		for nr in range(256):
		    known = COMMANDS.get(nr)
		    for direction in range(4):
		        for size in (0, 8, known[1] if known else 296, 0x3FFF):
		            error = control.raw(request(nr, size, direction), buffer.address)
		            # With a structure of size 0 a known command gets as far as that.
		            wanted = errno.EINVAL if known and direction == 3 else errno.ENOTTY
		            same(wanted, error, f"command {nr:#x}, direction {direction}, size {size}")
		    for kind in (0, 0x12, 0xBB, 0xBD, 0xFF):
		        same(errno.ENOTTY, control.raw(request(nr, 80, 3, kind), buffer.address),
		             f"type {kind:#x}, command {nr:#x}")
	END
	# A module brings its commands along, and takes them away.
	unload_modules
	load_module tally_core
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		for nr, (name, _) in COMMANDS.items():
		    error, _ = control.call(name, abi=2)
		    same(errno.EPROTONOSUPPORT if nr < 0x10 else errno.ENOTTY, error, name)
		out = control.must("INFO")
		same(0, struct.unpack_from("<Q", out, 40)[0], "features")
	END
}

test_C10_wrong_ABI_version()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		for name in SIZE:
		    for abi in (0, 2, 0x10000, 0xFFFFFFFF):
		        error, out = control.call(name, abi=abi)
		        same(errno.EPROTONOSUPPORT, error, name)
		        same(ABI, struct.unpack_from("<I", out, 4)[0], f"version that {name} tells")
		        assert str(abi) in control.reason and str(ABI) in control.reason, control.reason
		    # The version is looked at before the size: both may have changed with it.
		    error, _ = control.call(name, abi=2, size=SIZE[name] - 8)
		    same(errno.EPROTONOSUPPORT, error, name)
		same(0b111, struct.unpack_from("<Q", control.must("INFO"), 40)[0], "features")
	END
	same '' "$(our_disks)"
}

# By int 0x80, as a program of 32 bits does it; its memory is below 4 GiB.
test_C06_callers_of_32_bits()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		Buffer.flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40	# MAP_32BIT

		# push rbx; eax, ebx, ecx, edx = edi, esi, edx, ecx; int 0x80; cdqe; pop rbx; ret
		CODE = bytes.fromhex("53 89f8 89f3 87d1 cd80 4898 5b c3")
		page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
		page.write(CODE)
		call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_uint] * 4)(
		    ctypes.addressof(ctypes.c_char.from_buffer(page)))
		GETPID, IOCTL = 20, 54
		if not os.fork():
		    os._exit(call(GETPID, 0, 0, 0) != os.getpid())
		if os.wait()[1]:
		    print("the kernel takes no calls of 32 bits")
		    raise SystemExit(77)

		class Narrow(Control):
		    def raw(self, code, address):
		        return -call(IOCTL, self.fd, code, address)
		narrow, wide = Narrow(), Control()

		def both(name, body=b"", flags=0):
		    same(wide.call(name, body, flags)[0], 0, wide.reason)
		    # Behind the head, whose address of the reason differs.
		    same(wide.must(name, body, flags)[HEAD:], narrow.must(name, body, flags)[HEAD:], name)
		both("INFO")
		disk = Disk.add(narrow, name="one", profile="linux-5.0")
		same("linux-5.0", disk.read("tally/profile"))
		upper = Disk.map(narrow, "two", f"0 2048 linear {disk.number()} 0\n")
		settle()
		both("DISK_GET", ref("one"))
		narrow.must("SET", set_modes("two", profile="linux-4.20"))
		same("linux-4.20", upper.read("tally/profile"))
		for name, record in (("LIST", INFO_RECORD), ("PROFILES", 256), ("MODES", 184)):
		    answers = []
		    for control in (wide, narrow):
		        buffer = Buffer(64 * record)
		        out = control.must(name, struct.pack("<IIQII", 0, record, buffer.address, buffer.size, 0))
		        answers.append((struct.unpack_from("<I", out, 44), buffer.get()))
		    assert any(answers[0][1]), name
		    same(*answers, name)
		for flags in (0, 2):
		    buffer = Buffer(256)
		    out = narrow.must("MAP_TABLE", ref("two") + struct.pack("<QII", buffer.address, 256, 0), flags)
		    used = struct.unpack_from("<I", out, 172)[0]
		    wanted = f"0 2048 linear {disk.number()} 0" if not flags else "0 2048 linear"
		    same(wanted, buffer.get(0, used).decode().strip())
		both("MAP_SUSPEND", ref("two"))
		both("MAP_RESUME", ref("two"))
		fd = os.open(disk.node, os.O_RDONLY)
		out = narrow.must("GEN_RUN", struct.pack("<iIIIQQQQQQQ", fd, 1, 1, 512, 9, 0, 0, 0, 0, 0, 0))
		same(9, struct.unpack_from("<Q", out, 96)[0])
		os.close(fd)
		# Refusals come with their reason too.
		narrow.refused(errno.EEXIST, "RAM_ADD", ram_add(name="one"), why="one")
		narrow.refused(errno.EINVAL, "INFO", size=8)
		narrow.refused(errno.ENXIO, "MAP_REMOVE", ref("three"), why="three")
		narrow.must("MAP_REMOVE", ref("two"))
		wait_until(lambda: narrow.call("RAM_REMOVE", ref("one"))[0] == 0, "removal")
	END
	no_trace_left
}

test_C01_sizes()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		for name, known in SIZE.items():
		    for size in (0, 1, HEAD - 1, HEAD, known - 8, known - 1, 4097, 1 << 30,
		                 (1 << 31) - 1, (1 << 32) - 1):
		        control.refused(errno.EINVAL, name, size=size)
		    # Bytes that the kernel does not know: zero or refused, even the last.
		    control.refused(errno.E2BIG, name, tail=b"\1", why=name)
		    control.refused(errno.E2BIG, name, tail=b"\0" * 15 + b"\1")
		    control.refused(errno.E2BIG, name, tail=b"\0" * (4095 - known) + b"\1")
		    # Where the structure is not, or not all of it.
		    same(errno.EFAULT, control.raw(request(NUMBER[name], known), 0), name)
		    short = Buffer(known - 8)
		    short.put(control.head(known))
		    same(errno.EFAULT, control.raw(request(NUMBER[name], known), short.address), name)
		    tail = Buffer(known)
		    tail.put(control.head(known + 8))
		    same(errno.EFAULT, control.raw(request(NUMBER[name], known), tail.address), name)
		same([], control.disks())

		# A longer structure is answered, and its tail is zero.
		for tail in (8, 100, 4096 - SIZE["INFO"]):
		    error, out = control.call("INFO", tail=b"\0" * tail)
		    same(0, error)
		    same(b"\0" * tail, out[SIZE["INFO"]:])
		    same(127, struct.unpack_from("<I", out, 48)[0], "name_max")
		out = control.must("INFO")
		same((127, 128, 4 << 20, 65536, 8, 1024, 4096, 1 << 20),
		     struct.unpack_from("<8I", out, 48), "limits")
	END
}

test_padding_and_flags()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		flags = {"RAM_ADD": 0x3fd, "RAM_REMOVE": 2, "MAP_CREATE": 1, "MAP_LOAD": 1,
		         "MAP_TABLE": 3, "MAP_DEPS": 1, "GEN_RUN": 7}
		for name in SIZE:
		    known = flags.get(name, 0)
		    for bit in range(32):
		        if not known >> bit & 1:
		            control.refused(errno.EINVAL, name, flags=1 << bit, why=f"{1 << bit:#x}")
		# Padding: its offset in the structure.
		for name, offset in (("INFO", 36), ("PROFILES", 24), ("MODES", 24), ("MAP_TARGETS", 24),
		                     ("MAP_LOAD", 172), ("GEN_RUN", 140)):
		    body = bytearray(SIZE[name] - HEAD)
		    body[offset - HEAD] = 1
		    if name == "GEN_RUN":
		        body[4:24] = struct.pack("<IIIQ", 1, 1, 512, 1)
		    if name in ("PROFILES", "MODES", "MAP_TARGETS"):
		        body[4] = 8
		    control.refused(errno.EINVAL, name, bytes(body), why="adding")
		same([], control.disks())
	END
}

test_strings()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()

		# Without a NUL.
		control.refused(errno.ENAMETOOLONG, "RAM_ADD", ram_add(name="n" * 128), why="127")
		for field, size in (("profile", 32), ("backing", 16), ("store", 16), ("queue", 16),
		                    ("completion", 16), ("jitter", 16)):
		    control.refused(errno.EINVAL, "RAM_ADD", ram_add(**{field: "x" * size}), why=field)
		for name in ("RAM_REMOVE", "DISK_GET", "SET", "MAP_RESUME", "MAP_TABLE"):
		    control.refused(errno.ENAMETOOLONG, name, ref("n" * 128), why="127")

		# Names that cannot be.
		for name in ("control", ".", "..", "a/b", "/", "a\nb", "\x01", "\x7f"):
		    control.refused(errno.EINVAL, "RAM_ADD", ram_add(name=name), why="name")
		same([], control.disks())

		# The longest, and bytes of all other kinds.
		for name in ("n" * 127, "a b", "\u00e4\\\"'", "-"):
		    disk = Disk.add(control, name=name)
		    same(name, disk.read("tally/name"))
		    control.refused(errno.EEXIST, "RAM_ADD", ram_add(name=name), why=name)
		    same([name.encode()], [n.encode() for n in control.disks()])
		    control.remove(name)
		same([], control.disks())

		# References that lead nowhere.
		Disk.add(control, name="one")
		for wanted, where in ((errno.ENXIO, ref("two")), (errno.ENXIO, ref()),
		                      (errno.ENXIO, ref("", 1, 3)),
		                      (errno.ENXIO, ref("", 0xFFFFFFFF, 0xFFFFFFFF)),
		                      (errno.EINVAL, ref("one", 1, 1))):
		    for name in ("DISK_GET", "RAM_REMOVE"):
		        control.refused(wanted, name, where)
		control.refused(errno.ENODEV, "MAP_RESUME", ref("one"), why="not a mapped device")
		for field in ("profile", "inflight", "pending", "ticks", "clock"):
		    control.refused(errno.EINVAL, "SET", set_modes("one", **{field: "x"}), why="x")
		    control.refused(errno.EINVAL, "SET", set_modes("one", **{
		        field: "x" * (32 if field == "profile" else 16)}), why=field)
		same("0", Disk("tram0").read("tally/switches"))
		control.remove("one")
	END
	no_trace_left
}

test_numbers_of_a_disk()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		for block in (1, 256, 511, 513, 1536, 4095, 8192, 1 << 31, (1 << 32) - 1):
		    control.refused(errno.EINVAL, "RAM_ADD", ram_add(block_size=block), why=str(block))
		control.refused(errno.EINVAL, "RAM_ADD", ram_add(sectors=0), why="0")
		control.refused(errno.EINVAL, "RAM_ADD", ram_add(sectors=9, block_size=4096), why="4096")
		control.refused(errno.ENOMEM, "RAM_ADD", ram_add(sectors=1 << 40), why=str(1 << 49))
		for sectors in (1 << 54, 1 << 55, (1 << 64) - 1):
		    control.refused(errno.EINVAL, "RAM_ADD", ram_add(sectors=sectors, backing="null"),
		                    why=str(sectors))
		control.refused(errno.EINVAL, "RAM_ADD", ram_add(completion_ns=1), why="timer")
		control.refused(errno.EINVAL, "RAM_ADD",
		                ram_add(completion="timer", completion_ns=10**10 + 1), why=str(10**10))
		for node in (-2, 64, 1 << 20):
		    control.refused(errno.EINVAL, "RAM_ADD", ram_add(node=node), why=str(node))
		control.refused(errno.EINVAL, "RAM_ADD", ram_add(backing="null", store="sparse"),
		                why="sparse")
		same([], control.disks())
	END
	no_trace_left
}

test_reason_is_cut_to_fit()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		control.call("DISK_GET", ref("nowhere"))
		whole = control.reason.encode()
		assert whole == b"nowhere: no such disk", whole
		for length in (1, 2, 10, len(whole), len(whole) + 1, 200):
		    buffer = Buffer(200)
		    buffer.put(b"\xa5" * 200)
		    error, _ = control.call("DISK_GET", ref("nowhere"), reason=(length, buffer.address))
		    same(errno.ENXIO, error)
		    told = whole[:length - 1] + b"\0"
		    same(told + b"\xa5" * (200 - len(told)), buffer.get(), f"reason of {length} bytes")
		# No buffer, or one that is not there: the error is the same.
		for reason in ((0, 0), (256, 0), (0, 4096), (256, 4096), (256, (1 << 64) - 8)):
		    error, _ = control.call("DISK_GET", ref("nowhere"), reason=reason)
		    same(errno.ENXIO, error, f"reason at {reason}")
		# It is not written on success.
		control.must("INFO")
		same("", control.reason)
	END
}

test_answers_of_variable_length()
{
	load_modules
	python <<-'END'
		import errno
		from blktally import *
		control = Control()
		for i in range(3):
		    Disk.add(control, name=f"disk{i}", sectors=8 * (i + 1), backing="null")
		settle()	# so that nobody opens them meanwhile

		def ask(name, stride, buffer, length):
		    error, out = control.call(name, struct.pack("<IIQII", 0, stride, buffer, length, 0xFFFF))
		    return error, struct.unpack_from("<I", out, 44)[0]

		for name, count, record in (("LIST", 3, INFO_RECORD), ("PROFILES", 7, 256),
		                            ("MODES", 6 + 3 + 6 + 3, 184), ("MAP_TARGETS", None, 192)):
		    error, used = ask(name, record, 0, 0)
		    same(0, error, name)
		    count = used // record if count is None else count
		    assert count, name
		    same(count * record, used, name)
		    full = Buffer(used)		# a page that may not be touched follows
		    for length in (0, 1, used - 1):
		        full.put(b"\xa5" * used)
		        same((0, used), ask(name, record, full.address, length), name)
		        same(b"\xa5" * used, full.get(), f"{name}: {length} bytes are too few")
		    same((0, used), ask(name, record, full.address, used), name)
		    whole = [full.get(i * record, record) for i in range(count)]
		    # Records are cut or padded to the caller's stride.
		    for stride in (8, record - 8, record, record + 8, 4096):
		        buffer = Buffer(count * stride)
		        buffer.put(b"\xa5" * count * stride)
		        same((0, count * stride), ask(name, stride, buffer.address, count * stride), name)
		        for i in range(count):
		            same(whole[i][:stride].ljust(stride, b"\0"), buffer.get(i * stride, stride),
		                 f"{name}: record {i} of {stride} bytes")
		    for stride in (0, 7, 9, 12, 4104, 1 << 31, (1 << 32) - 8):
		        same(errno.EINVAL, ask(name, stride, 0, 0)[0], f"{name}: stride {stride}")
		    same(errno.EFAULT, ask(name, record, 4096, used)[0], name)
		    same(errno.EFAULT, ask(name, record, full.address + 8, used)[0], name)
		for kind, wanted in ((0, 3), (1, 3), (2, 0)):
		    out = control.must("LIST", struct.pack("<IIQII", kind, INFO_RECORD, 0, 0, 0))
		    same(wanted * INFO_RECORD, struct.unpack_from("<I", out, 44)[0], f"kind {kind}")
		control.refused(errno.EINVAL, "LIST", struct.pack("<IIQII", 3, INFO_RECORD, 0, 0, 0), why="3")
		same(["disk0", "disk1", "disk2"], control.disks())
	END
}
