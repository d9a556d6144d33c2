# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="the harness itself, and the machine that the tests need"

# notices CMD...: CMD fails. ("! CMD" alone would not end the test if it did not.)
notices()
{
	if ("$@") 2>/dev/null; then
		fail "$*: noticed nothing"
	fi
}

test_helpers_tell_right_from_wrong()
{
	same a a
	matches '^a.c$' abc
	notices same a b
	notices matches x abc
	fails_with 3 'no good' sh -c 'echo no good >&2; exit 3'
	notices fails_with 3 'no good' sh -c 'echo no good >&2; exit 4'
	notices fails_with 3 'no good' sh -c 'echo no good; exit 3'
	notices fails_with 3 'no good' sh -c 'exit 3'
	refused 'No such file' cat /nonexistent
	notices refused 'No such file' true
	(fail reason) 2>"$tmp/reason" || same 1 $?
	same reason "$(<"$tmp/reason")"
}

test_wait_until_waits()
{
	(until [[ -e $tmp/go ]]; do sleep 0.05; done; touch "$tmp/gone") &
	touch "$tmp/go"
	wait_until test -e "$tmp/gone"
	patience=1 notices wait_until false
}

test_pattern_is_exact()
{
	local file=$tmp/file
	same 1536 "$(pattern 1 1536 | wc -c)"
	cmp <(pattern 7 100000) <(pattern 7 100000)
	not cmp -s <(pattern 7 512) <(pattern 8 512)
	# Only the sectors that were meant; tmpfs takes no direct I/O.
	modprobe loop
	truncate -s 1M "$file"
	local loop
	loop=$(losetup --show -f "$file")
	write_pattern "$loop" 3 1024 65536
	check_pattern "$loop" 3 1024 65536
	not check_pattern "$loop" 4 1024 65536 2>/dev/null
	losetup -d "$loop"
	same 0 "$(head -c 1024 "$file" | tr -d '\0' | wc -c)"
	same 0 "$(tail -c +66561 "$file" | tr -d '\0' | wc -c)"
}

test_machine_has_what_tests_need()
{
	[[ -w /dev/kmsg && -d /sys/kernel/debug && -w /proc/sysrq-trigger ]]
	[[ -d /lib/modules/$(uname -r) ]]
	modprobe -n brd
	modprobe -n dm-mod
	type -P fio dmsetup blkdiscard mkfs.ext4 jq python3 openssl >"$tmp/found" || true
	local tool
	for tool in fio dmsetup blkdiscard mkfs.ext4 python3 openssl; do
		grep -q "/$tool\$" "$tmp/found" || fail "no $tool; see scripts/deps"
	done
}
