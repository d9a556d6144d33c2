# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # used by, and set by, run
#
# What the tests in a virtual machine share; tests/vm/run sources it before
# each test. Tests run from the top of the source tree under "set -euE -o
# pipefail": a command that fails fails the test, and is its reason.

kmod=build/kmod/$(uname -r)
bin=build/user-release/userspace
control=/dev/blktally/control
modules=(tally_core tally_ram tally_map tally_gen)

# QUEUE is "mq" in tests that are to have their RAM disks behind blk-mq. Without a
# scheduler: that would hold I/O back, and make one of two.
tallyctl()
{
	if [[ $QUEUE && ${1-} == ram && ${2-} == add && " $* " != *" --queue "* ]]; then
		set -- "$@" --queue "$QUEUE" --no-sched
	fi
	"$bin/tallyctl/tallyctl" "$@"
}
tallybench() { "$bin/tallybench/tallybench" "$@"; }

# fail TEXT...: end the test
fail() { echo "$*" >&2; exit 1; }

# skip TEXT...: end the test without a verdict
skip() { echo "$*" >&2; exit 77; }

# ---------------------------------------------------------------- verdicts

# same WANTED GOT [WHAT]
same() { [[ $1 == "$2" ]] || fail "${3:+$3: }wanted '$1', got '$2'"; }

# matches REGEX TEXT [WHAT]
matches() { [[ $2 =~ $1 ]] || fail "${3:+$3: }nothing like '$1' in '$2'"; }

# fails_with STATUS REGEX CMD...: CMD ends with STATUS, says REGEX on standard
# error and nothing on standard output
fails_with()
{
	local want=$1 regex=$2 status=0 out err
	shift 2
	{ out=$("$@" 2>&3) || status=$?; } 3>"$tmp/stderr"
	err=$(<"$tmp/stderr")
	((status == want)) || fail "$*: status $status, wanted $want: $err"
	[[ ! $out ]] || fail "$*: failed, and yet said on standard output: $out"
	matches "$regex" "$err" "$*"
}

# refused ERRNO-TEXT CMD...: CMD, which is no tool of ours, fails saying so
refused()
{
	local text=$1 err
	shift
	! err=$("$@" 2>&1 >/dev/null) || fail "$*: was not refused"
	matches "$text" "$err" "$*"
}

patience=60 # seconds

# wait_until CMD...: run CMD until it succeeds. What comes true late, on a slow
# machine, is no fault of ours; what never does is.
wait_until()
{
	local end=$((SECONDS + patience))
	until "$@"; do
		((SECONDS < end)) || fail "never came true: $*"
		sleep 0.05
	done
}

# not CMD...: for wait_until
not() { ! "$@"; }

# ----------------------------------------------------------------- modules

loaded() { [[ -d /sys/module/$1 ]]; }

# load_module NAME [PARAMETER...]: from the build tree
load_module()
{
	if [[ $QUEUE && $* == tally_ram*nr_devices=* ]]; then
		set -- "$@" "queue=$QUEUE" no_sched=1
	fi
	insmod "$kmod/$1.ko" "${@:2}"
}

# load_modules: those that are not there yet
load_modules()
{
	local name
	for name in "${modules[@]}"; do
		loaded "$name" || load_module "$name"
	done
}

# unload_modules: all, in order; one that is in use fails the test
unload_modules()
{
	local n
	for ((n = ${#modules[@]} - 1; n >= 0; n--)); do
		! loaded "${modules[n]}" || rmmod "${modules[n]}"
	done
}

# refuses REGEX PARAMETER...: tally_ram does not load, the kernel log says REGEX,
# and nothing is left
refuses()
{
	local regex=$1 status=0 mark
	shift
	mark="refuses $*"
	echo "<6>$mark" >/dev/kmsg
	insmod "$kmod/tally_ram.ko" "$@" 2>"$tmp/err" || status=$?
	same 1 "$status" "insmod tally_ram $*"
	not loaded tally_ram
	matches "$regex" "$(dmesg | grep -F -A 20 "$mark" | tail -n +2)" "$*"
	same '' "$(our_disks)" "disks after $*"
	same 0 "$(references tally_core)" "references after $*"
}

# references NAME: the reference count of a module
references() { cat "/sys/module/$1/refcnt"; }

# ------------------------------------------------------------------- disks

settle() { ! udev_runs || udevadm settle --timeout=120; }
udev_runs() { [[ -S /run/udev/control ]]; }

# without_udevd: it does nothing until the test ends
without_udevd()
{
	udev_runs || return 0
	udevadm settle --timeout=120
	udevadm control --exit
	wait_until not pgrep -x systemd-udevd >/dev/null
	trap '/lib/systemd/systemd-udevd --daemon' EXIT
}

# sysfs DISK FILE [VALUE]: read or write an attribute of our group. DISK is a
# kernel name or a name under /dev/blktally.
sysfs()
{
	local file
	file=/sys/block/$(disk_of "$1")/tally/$2
	if (($# > 2)); then
		echo "$3" >"$file"
	else
		cat "$file"
	fi
}

# disk_of NAME: the kernel's name of a disk of ours
disk_of()
{
	if [[ -d /sys/block/$1 ]]; then
		echo "$1"
	else
		basename "$(readlink -f "/dev/blktally/$1")"
	fi
}

# dev_of NAME: its major:minor
dev_of() { cat "/sys/block/$(disk_of "$1")/dev"; }

# node_of NAME: its device node
node_of() { echo "/dev/$(disk_of "$1")"; }

# in_flight DISK WANTED: whether "reads writes" are in flight; for wait_until
in_flight() { [[ $(sysfs "$1" inflight) == "$2" ]]; }

# our_disks: kernel names, one a line
our_disks()
{
	local disk
	for disk in /sys/block/*/; do
		disk=${disk%/}
		[[ ! -d $disk/tally ]] || echo "${disk##*/}"
	done
}

# no_trace_left: no disk, node, link or module reference of ours is there
no_trace_left()
{
	local name
	settle
	same '' "$(our_disks)" disks
	same '' "$(compgen -G '/dev/t[rmn][aua][mpl][0-9]*' || true)" nodes
	same '' "$(find /dev/blktally -mindepth 1 ! -name control 2>/dev/null)" links
	for name in "${modules[@]:1}"; do
		! loaded "$name" || same 0 "$(references "$name")" "references on $name"
	done
}

# -------------------------------------------------------------------- data

# pattern SEED BYTES: the same bytes for the same seed, none of them dull
pattern()
{
	openssl enc -aes-128-ctr -nosalt -K "$(printf %032x "$1")" -iv 0 \
		-in <(head -c "$2" /dev/zero) 2>/dev/null
}

# write_pattern NODE SEED OFFSET BYTES / check_pattern: both direct, so that
# no page cache answers for the disk. OFFSET and BYTES are multiples of 512.
write_pattern()
{
	pattern "$2" "$4" | dd of="$1" bs=64k seek="$3" oflag=seek_bytes,direct \
		iflag=fullblock conv=notrunc status=none
}

check_pattern()
{
	cmp <(pattern "$2" "$4") <(dd if="$1" bs=64k skip="$3" count="$4" \
		iflag=skip_bytes,count_bytes,direct status=none)
}

# ------------------------------------------------------------------ python

# python [ARGUMENT...]: the script on standard input, with blktally.py at hand
python()
{
	PYTHONPATH=tests/vm/tools \
		BIN=$bin TMP=$tmp /usr/bin/python3 -BS - "$@"
}
