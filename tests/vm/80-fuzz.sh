# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="the control node and sysfs under requests of all kinds, while the disks are used"
LONG="ioctl"
TIME_LIMIT=$((${BLKTALLY_FUZZ_CALLS:-20000} / 50 + 300))

# More, or the same again:
#   scripts/vm --timeout 2400 -- env BLKTALLY_FUZZ_CALLS=100000 BLKTALLY_FUZZ_SEED=1 \
#       tests/vm/run 80-fuzz:ioctl
fuzzer=build/user-release/tests/fuzz/ioctl/tally-ioctl-fuzz

requires()
{
	[[ -x $fuzzer ]] || skip "not built: make test-programs"
}

test_ioctl()
{
	load_modules
	# Two processes per disk that comes and goes: slow, and others have them tested.
	without_udevd
	modprobe loop # for a disk that is not ours
	"$fuzzer" --calls "${BLKTALLY_FUZZ_CALLS:-20000}" \
		${BLKTALLY_FUZZ_SEED:+--seed "$BLKTALLY_FUZZ_SEED"}
	no_trace_left
}
