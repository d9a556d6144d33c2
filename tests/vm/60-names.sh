# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="names and links, whoever makes them: udevd with and without our rule, or the tool"
LONG="link_is_there_at_once_without_the_rule D03_O04_odd_names_without_the_rule"

# shellcheck source=tests/vm/maps.sh
. tests/vm/maps.sh

# links: all of them, one a line
links() { find /dev/blktally -mindepth 1 ! -name control; }

# one_link NUMBER: exactly one, which leads to that device
one_link()
{
	local all
	all=$(links)
	same 1 "$(wc -l <<<"$all")" "links: $all"
	[[ -L $all && -b $all ]] || fail "$all is no link to a device"
	same "$1" "$(lsblk -ndo MAJ:MIN "$all" | tr -d ' ')" "$all"
}

at_once()
{
	local n
	ram a 1M
	for n in 1 2 3 4 5; do
		map m a 0 2048
		dd if=/dev/blktally/m of=/dev/null count=1 iflag=direct status=none
		tallyctl remove m
		[[ ! -L /dev/blktally/m ]]
	done
	same "/dev/blktally/a" "$(links)"
	tallyctl ram remove a
	no_trace_left
}

test_link_is_there_at_once() { at_once; }
test_link_is_there_at_once_without_the_rule()
{
	udev_runs || skip 'udevd does not run'
	trap with_rule EXIT
	without_rule
	at_once
}

# odd_names NAME...
odd_names()
{
	local name number json lower
	ram a 1M
	lower=$(dev_of a)
	rm /dev/blktally/a # only the maps' links are looked at
	for name; do
		tallyctl create --table "0 8 linear $lower 0" --uuid "$name" -- "$name"
		number=$(</sys/block/tmap0/dev)
		one_link "$number"
		same "$name" "$(</sys/block/tmap0/tally/name)"
		json=$(tallyctl info --json)
		if [[ $name != $'\xff' ]]; then # no text, so not exactly in JSON
			same "$name" "$(jq -r '.devices[0].name' <<<"$json")"
			same "$name" "$(jq -r '.devices[0].uuid' <<<"$json")"
		fi
		same "0 8 linear $lower 0" "$(tallyctl table -- "$name")"
		tallyctl suspend -- "$name"
		tallyctl resume -- "$name"
		settle
		one_link "$number"
		tallyctl remove -- "$name"
		settle
		same '' "$(links)" "links after $name"
	done
	tallyctl ram remove a
	no_trace_left
}

# udevd tells when it is done with a device, rule or not: no time is waited for.
test_no_wait_for_a_rule_that_is_not_there()
{
	local n start took best=100000 waits=1000 # ms that the tool would give udevd
	load_modules
	for n in 1 2 3 4 5 6 7 8; do
		start=${EPOCHREALTIME/./}
		tallyctl ram add a --size 1M
		took=$(((${EPOCHREALTIME/./} - start) / 1000))
		((took >= best)) || best=$took
		start=${EPOCHREALTIME/./}
		tallyctl ram remove a
		took=$(((${EPOCHREALTIME/./} - start) / 1000))
		((took >= best)) || best=$took
	done
	((best < waits)) || fail "the fastest of 16 commands took $best ms"
}

test_D03_O04_odd_names()
{
	# shellcheck disable=SC2016 # as it is
	odd_names 'xx yy' "a\"b\\c'd" 'ü%s$x`y`*' '--' $'\xff' "$(printf 'n%.0s' {1..127})"
}
test_D03_O04_odd_names_without_the_rule()
{
	udev_runs || skip 'udevd does not run'
	trap with_rule EXIT
	without_rule
	odd_names 'xx yy' 'a"\b'
}

# Made and removed without the tool: udevd has nothing but our rule and tally/name.
test_D03_odd_names_by_ioctl()
{
	udev_runs || skip 'udevd does not run'
	load_modules
	python <<-'END'
		import glob
		from blktally import *
		control = Control()
		def links():
		    return {os.path.basename(path): os.path.basename(os.readlink(path))
		            for path in glob.glob("/dev/blktally/*") if os.path.islink(path)}
		for name, link in (("xx yy", r"xx\x20yy"), ('a"b', r"a\x22b"), ("c\\d", r"c\x5cd"), ("%s$x", r"\x25s\x24x")):
		    low = Disk.add(control, name=name)
		    settle()
		    same({link: low.name}, links(), f"RAM disk {name!r}")
		    up = Disk.map(control, name + "2", f"0 8 linear {low.number()} 0\n")
		    settle()
		    same({link: low.name, link + "2": up.name}, links(), f"map {name + '2'!r}")
		    control.must("MAP_REMOVE", ref(name + "2"))
		    settle()
		    same({link: low.name}, links(), f"after map {name + '2'!r}")
		    control.remove(name)
		    settle()
		    same({}, links(), f"after RAM disk {name!r}")
	END
	no_trace_left
}

test_D10_odd_uuid()
{
	local uuid='a b"\ü/'
	tallyctl create m --notable --uuid "$uuid"
	same "$uuid" "$(info m uuid)"
	matches "UUID: a b" "$(tallyctl info m)"
	tallyctl remove m
	tallyctl create m --notable --uuid "$(printf 'u%.0s' {1..128})"
	tallyctl remove m
	no_trace_left
}

test_name_too_long_for_a_link()
{
	# 127 blanks are a name, but as \x20 each they are no file name.
	fails_with 1 'takes 508 bytes as a file name' tallyctl create --notable "$(printf ' %.0s' {1..127})"
	no_trace_left
}

test_stale_and_foreign_files_in_the_way()
{
	ram a 1M
	ln -s ../tmap99 /dev/blktally/m
	map m a 0 2048
	same "$(node_of m)" "$(readlink -f /dev/blktally/m)"
	tallyctl remove m
	# What is no link is left alone, and no device is left behind. udevd would not
	# make the link either, but would unlink the file with the device.
	trap with_rule EXIT
	without_rule
	echo text >/dev/blktally/m
	fails_with 1 '/dev/blktally/m' map m a 0 2048
	same text "$(</dev/blktally/m)"
	rm /dev/blktally/m
	same tram0 "$(our_disks)"
	wait_until opened a 0
	tallyctl ram remove a
	no_trace_left
}

test_F04_remove_with_a_short_opener()
{
	local opener
	ram a 1M
	map m a 0 2048
	(
		exec 3</dev/blktally/m
		touch "$tmp/open"
		until [[ -e $tmp/close ]]; do sleep 0.05; done
	) &
	opener=$!
	wait_until test -e "$tmp/open"
	fails_with 1 'm is open' tallyctl remove m
	same tmap0 "$(disk_of m)"
	write_pattern /dev/blktally/m 1 0 4096
	touch "$tmp/close"
	wait $opener
	tallyctl remove m
	check_pattern "$(node_of a)" 1 0 4096
	tallyctl ram remove a
	no_trace_left
}

test_D08_empty_table_returns_at_once()
{
	tallyctl create m </dev/null
	same None "$(tallyctl info m | sed -n 's/^Tables present: *//p')"
	same 0 "$(wc -c </dev/blktally/m)"
	refused 'No space' dd if=/dev/zero of=/dev/blktally/m count=1 conv=notrunc
	tallyctl remove m
	no_trace_left
}

# A name in brackets is another name than what is in them.
test_brackets()
{
	load_modules
	tallyctl ram add a --size 1M >/dev/null
	tallyctl ram add '[a]' --size 2M >/dev/null
	tallyctl ram remove '[a]'
	same 1048576 "$(blockdev --getsize64 /dev/blktally/a)"
	tallyctl create b --notable
	tallyctl create '[b,a]' --notable
	tallyctl remove '[b,a]'
	tallyctl remove b
	tallyctl ram remove a
	no_trace_left
}

# Who may read /dev/blktally holds nobody up.
test_foreign_lock()
{
	load_modules
	setpriv --reuid 65534 --regid 65534 --clear-groups flock -x /dev/blktally sleep 30 &
	tallyctl create m --notable
	tallyctl remove m
	kill $!
}
