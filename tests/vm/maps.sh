# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # used by the tests, set by lib.sh
#
# What the tests of mapped devices share, beside lib.sh.

tools=tests/vm/tools
rule=/etc/udev/rules.d/60-blktally.rules

# with_rule, without_rule: whether udevd, where it runs, makes our links
with_rule()
{
	udev_runs || return 0
	mkdir -p "${rule%/*}"
	sed "s|@TALLY_UDEV_PROGRAM@|$(realpath "$bin")/tallyctl/tallyctl|" udev/60-blktally.rules.in >"$rule"
	udevadm control --reload
}

without_rule()
{
	rm -f "$rule"
	! udev_runs || udevadm control --reload
}

# As where it is installed; tests that want it otherwise say so.
[[ -e $rule ]] || with_rule

# ram NAME SIZE [OPTION...]: a RAM disk
ram() { tallyctl ram add "$1" --size "$2" "${@:3}"; }

# linear [LOWER OFFSET LENGTH]...: text of a table of such segments; LOWER is a
# disk of ours, major:minor or a path
linear()
{
	local start=0 lower
	while (($#)); do
		lower=$1
		[[ $1 == /* || $1 == *:* ]] || lower=$(dev_of "$1")
		echo "$start $3 linear $lower $2"
		start=$((start + $3))
		shift 3
	done
}

# map NAME [LOWER OFFSET LENGTH]...: a mapped device
map() { linear "${@:2}" | tallyctl create "$1"; }

# load NAME [LOWER OFFSET LENGTH]..., reload: the same, and resume
load() { linear "${@:2}" | tallyctl load "$1"; }
reload() { load "$@" && tallyctl resume "$1"; }

# info NAME KEY: one value of a disk of ours
info() { tallyctl info "$1" --json | jq -r ".devices[0].$2"; }

# opened NAME WANTED: whether a disk of ours is open so often; for wait_until
opened() { [[ $(info "$1" open_count) == "$2" ]]; }

# asleep PID: whether a process waits for I/O or the like; for wait_until
asleep() { [[ $(ps -o state= -p "$1") == [D] ]]; }

# ended PID
ended() { ! kill -0 "$1" 2>/dev/null; }

# ios DISK: reads and writes that tally/stat counted
reads() { awk '{ print $1 }' "/sys/block/$(disk_of "$1")/tally/stat"; }
writes() { awk '{ print $5 }' "/sys/block/$(disk_of "$1")/tally/stat"; }

profiles=(none linux-4.20 percpu-v1 linux-5.0 linux-5.18 linux-6.10 native)

# flip DISK STOP PROFILE...: through the profiles, until the file STOP is there
# and each was on; writes the number of switches into STOP.PID
flip()
{
	local file n=0 profile stop=$2
	file=/sys/block/$(disk_of "$1")/tally/profile
	shift 2
	until [[ -e $stop ]]; do
		for profile; do
			echo "$profile" >"$file"
			n=$((n + 1))
		done
	done
	echo "$n" >"$stop.$BASHPID"
}

# end_flips STOP PROCESSES: all of them got there without a failed write
end_flips()
{
	touch "$1"
	wait
	same "$2" "$(compgen -G "$1.*" | wc -l)" 'processes that flipped to the end'
}
