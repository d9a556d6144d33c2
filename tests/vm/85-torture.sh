# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="everything at once, with I/O that is verified"
LONG="torture"

# For long:
#   scripts/vm --timeout 2400 -- env BLKTALLY_TORTURE_SECONDS=1800 tests/vm/run 85-torture:torture
seconds=${BLKTALLY_TORTURE_SECONDS:-30}
TIME_LIMIT=$((${BLKTALLY_TORTURE_SECONDS:-30} + 270))

# To the kernel log too: after a panic there is nothing else, and scripts/vm
# --console keeps what was counted.
log_lines()
{
	local line
	while IFS= read -r line; do
		echo "$line"
		echo "<5>torture: $line" >/dev/kmsg
	done
}

test_torture()
{
	local program=build/user-release/tests/torture/tally-torture hotplug=()
	[[ -x $program ]] || fail "$program is not built: make test-programs"
	load_modules
	# One CPU is a machine as well, but the others do not go by without being counted.
	(($(nproc) > 1)) || hotplug=(--no-hotplug)
	# From memory: the program is not to wait for the host's files.
	cp "$program" "$tmp"
	"$tmp/tally-torture" --seconds "$seconds" "${hotplug[@]}" 2>&1 | log_lines
	no_trace_left
	unload_modules
}
