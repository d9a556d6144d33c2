# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154

DESCRIPTION="what an idle disk costs: less than 64 KiB beside data and per-CPU cells"

disks=12 # in a batch
limit=$((64 * 1024))

# free_bytes: what is free once caches are dropped, per-CPU memory counted in
free_bytes()
{
	settle
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^(MemFree|Percpu):/ { sum += $2 } END { print sum * 1024 }' /proc/meminfo
}

# cost_of CMD...: bytes that a call of "CMD NAME" leaves in use, the least of three
# batches: other things are allocated meanwhile, and slabs that all share fill up.
cost_of()
{
	local batch n before cost least=
	for batch in warm one two three; do
		before=$(free_bytes)
		for ((n = 0; n < disks; n++)); do "$@" "$batch$n" >/dev/null; done
		cost=$(((before - $(free_bytes)) / disks))
		[[ $batch == warm ]] && continue
		((cost > 0)) && [[ ! $least || $cost -lt $least ]] && least=$cost
	done
	echo "${least:-0}"
}

below_limit()
{
	echo "# $1: $2 bytes per idle disk"
	(($2 > 0)) || fail "$1: $2 bytes per disk is no measurement"
	(($2 < limit)) || fail "$1: $2 bytes per disk, limit $limit"
}

add_null() { tallyctl ram add "$1" --backing null --size 1G; }
add_sparse() { tallyctl ram add "$1" --store sparse --size 1G; }
add_map() { tallyctl create "$1" --table "0 2048 linear $lower 0"; }

test_null_disks()
{
	load_modules
	below_limit null "$(cost_of add_null)"
}

test_sparse_disks()
{
	load_modules
	below_limit sparse "$(cost_of add_sparse)"
}

test_maps()
{
	local lower
	load_modules
	tallyctl ram add low --backing null --size 1G >/dev/null
	lower=$(dev_of low)
	below_limit map "$(cost_of add_map)"
}
