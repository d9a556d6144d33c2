# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="what tallyctl prints beside what dmsetup prints, and its JSON beside the schemas"

# shellcheck source=tests/vm/maps.sh
. tests/vm/maps.sh

# Both hold their lower disks exclusively, so one after the other.
printed_by()
{
	local dir=$tmp/$1 name
	mkdir "$dir"
	for name in m n; do
		"$1" create $name <"$tmp/$name.table"
	done
	settle # udevd has it open for a while
	for name in m n; do
		"$1" table $name >"$dir/table-$name"
		"$1" status $name | sed 's/ *$//' >"$dir/status-$name"
		"$1" deps $name >"$dir/deps-$name"
		"$1" info $name | grep -vE '^(Read Ahead|Event number|Major, minor|Disk|Profile|Detail):' \
			>"$dir/info-$name"
	done
	"$1" table >"$dir/table"
	"$1" status | sed 's/ *$//' >"$dir/status"
	"$1" ls | sed 's/([0-9]*:[0-9]*)/(NUMBER)/' >"$dir/ls"
	"$1" suspend m
	"$1" load m <"$tmp/n.table"
	"$1" info m | grep -E '^(State|Tables present|Open count):' >"$dir/suspended"
	"$1" table m --inactive >"$dir/inactive"
	"$1" resume m
	"$1" table m >"$dir/resumed"
	settle
	"$1" remove m
	"$1" remove n
}

test_same_as_dmsetup()
{
	modprobe dm-mod
	ram a 4M
	ram b 4M
	linear a 0 100  a 200 30  a 1024 2048 >"$tmp/m.table"
	linear b 8 4096 >"$tmp/n.table"
	settle
	printed_by dmsetup
	printed_by tallyctl
	diff -r "$tmp/dmsetup" "$tmp/tallyctl"
	[[ -s $tmp/tallyctl/table-m && -s $tmp/tallyctl/info-m && -s $tmp/tallyctl/suspended ]]
}

test_same_deps_of_two_disks()
{
	# In whatever order: dmsetup puts the last first.
	modprobe dm-mod
	ram a 1M
	ram b 1M
	linear a 0 8  b 0 8  a 8 8 >"$tmp/table"
	settle
	dmsetup create m <"$tmp/table"
	dmsetup deps m | grep -o '([^)]*)' | sort >"$tmp/dmsetup"
	settle
	dmsetup remove m
	tallyctl create m <"$tmp/table"
	tallyctl deps m | grep -o '([^)]*)' | sort >"$tmp/tallyctl"
	cmp "$tmp/dmsetup" "$tmp/tallyctl"
	same 2 "$(grep -c , "$tmp/tallyctl")"
}

# labels CMD: of info, in order
labels() { "$1" info m | sed -n 's/^\([A-Z][A-Za-z, ]*\):.*/\1/p'; }

test_same_labels_of_info()
{
	modprobe dm-mod
	dmsetup create m --notable --uuid u
	labels dmsetup | grep -v '^Read Ahead$' >"$tmp/dmsetup"
	settle
	dmsetup remove m
	tallyctl create m --notable --uuid u
	labels tallyctl >"$tmp/all"
	# What dmsetup does not know stands behind what it does.
	cmp "$tmp/dmsetup" <(head -n "$(wc -l <"$tmp/dmsetup")" "$tmp/all")
	same $'Disk\nProfile\nDetail' "$(tail -n +"$(($(wc -l <"$tmp/dmsetup") + 1))" "$tmp/all")"
}

# shellcheck disable=SC1003 # a backslash, and no more
test_json_follows_the_schemas()
{
	local verb json=$tmp/json
	python3 -c 'import jsonschema' 2>/dev/null || skip 'no python3-jsonschema'
	mkdir "$json"
	ram 'a "disk"' 1M --profile linux-5.0
	map m "/dev/$(our_disks)" 0 8  "/dev/$(our_disks)" 8 8
	tallyctl create 'no "table\' --notable --uuid 'u "\'
	for verb in deps info ls modes profiles status table targets version; do
		tallyctl $verb --json >"$json/$verb.json"
	done
	tallyctl ram list --json >"$json/ram-list.json"
	tallyctl ram show "$(our_disks | grep ram)" --json >"$json/ram-show.json"
	python3 tests/unit/schema/validate.py docs/schema "$json"
	same 'no "table\' "$(jq -r '.devices[1].name' "$json/info.json")"
}
