# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
DESCRIPTION="bad input, by ioctl and by tallyctl: named, refused, and no trace of it"
LONG="O01_long_tables"

# shellcheck source=tests/vm/maps.sh
. tests/vm/maps.sh

test_B06_C01_C04_C07_C11_refused_by_ioctl()
{
	ram a 1M
	map m a 0 1001  a 1024 7  a 1100 8  a 1200 8  a 1300 64
	write_pattern /dev/blktally/m 1 0 524288
	# The answer is the number of refusals that were asked for.
	(($("$tools/refusals.py" m a "$(dev_of a)") > 200))
	check_pattern /dev/blktally/m 1 0 524288
	same 1 "$(info a open_count)"
	same false "$(info m suspended)"
	same none "$(info m profile)"
	tallyctl remove m
	wait_until opened a 0
	blkdiscard "$(node_of a)" # opens it exclusively
	tallyctl ram remove a
	no_trace_left
}

# table_refused REGEX TABLE: by a map that is in use
table_refused()
{
	fails_with "${status:-1}" "$1" tallyctl load m --table "$2"
	same "$table" "$(tallyctl table m)"
}

# none_made REGEX TABLE: and no map is made for it either
none_made()
{
	table_refused "$@"
	fails_with "${status:-1}" "$1" tallyctl create n --table "$2"
	same $'tmap0\ntram0' "$(our_disks)"
}

test_tables_refused_by_tallyctl()
{
	local table d status node
	ram a 1M
	d=$(dev_of a) node=$(node_of a)
	map m a 1024 512
	write_pattern /dev/blktally/m 1 0 262144
	table=$(tallyctl table m)

	none_made 'word 1.*0bla' "0bla 8 linear $d 0"
	table_refused '8x' "0 8x linear $d 0"
	table_refused '0bla' "0 8 linear $d 0bla"
	table_refused '-1' "0 8 linear $d -1"
	table_refused "${d}bla" "0 8 linear ${d}bla 0"
	table_refused '0x8' "0 0x8 linear $d 0"
	table_refused '18446744073709551616' "0 8 linear $d 18446744073709551616"
	table_refused 'line 2.*gap' "0 8 linear $d 0"$'\n'"9 8 linear $d 0"
	table_refused 'line 2.*overlap' "0 8 linear $d 0"$'\n'"7 8 linear $d 0"
	table_refused 'wraps around' "0 8 linear $d 0"$'\n'"8 18446744073709551608 linear $d 0"
	none_made '2040 has|has 2048' "0 16 linear $d 2040"
	table_refused 'length' "0 0 linear $d 0"
	table_refused 'missing' "0"
	table_refused 'missing' "0 8"
	table_refused 'missing' "0 8 linear"
	table_refused 'missing' "0 8 linear $node"
	none_made 'too many' "0 8 linear $d 0 0"
	table_refused 'striped' "0 8 striped $d 0"
	table_refused '/dev/null: not a block device' "0 8 linear /dev/null 0"
	status=3 table_refused '/dev/nowhere: No such file' "0 8 linear /dev/nowhere 0"
	status=3 table_refused '4000:77' "0 8 linear 4000:77 0"
	status=3 none_made 'line 2.*4000:77' "0 8 linear $node 0"$'\n'"8 8 linear 4000:77 0"
	fails_with 1 'empty' tallyctl load m --table ''
	fails_with 1 'longer than 4194304 bytes' \
		sh -c "head -c 5242880 /dev/zero | tr '\\0' '#' | '$bin/tallyctl/tallyctl' create n"
	fails_with 1 'longer than 4194304 bytes' \
		sh -c "head -c 5242880 /dev/zero | tr '\\0' '#' | '$bin/tallyctl/tallyctl' load m"

	check_pattern /dev/blktally/m 1 0 262144
	same '' "$(tallyctl table m --inactive)"
	same 1 "$(info a open_count)"
	tallyctl remove m
	wait_until opened a 0
	blkdiscard "$node"
	tallyctl ram remove a
	no_trace_left
}

test_O01_long_tables()
{
	local n
	ram a 1M
	# 127, 128, 129 KiB and 1.5 MiB of lines of 16 to 22 bytes
	for n in 130048 131072 132096 1572864; do
		awk -v d="$(dev_of a)" -v n=$n 'BEGIN {
			for (at = 0; ; at++) {
				line = at " 1 linear " d " " at % 2048 "\n"
				if (bytes + length(line) > n || at == 65536)
					break
				bytes += length(line)
				printf "%s", line
			}
			while (bytes++ < n)
				printf "\n"
		}' >"$tmp/table"
		same "$n" "$(stat -c %s "$tmp/table")"
		tallyctl create m <"$tmp/table"
		cmp <(grep . "$tmp/table") <(tallyctl table m)
		tallyctl remove m
	done
}

# not_created STATUS REGEX WORD...: and there is no trace of it
not_created()
{
	fails_with "$1" "$2" tallyctl create "${@:3}"
	same "$devices" "$(our_disks)"
	same "$known" "$(find /dev/blktally | sort)"
}

test_names_and_profiles_refused_by_tallyctl()
{
	local devices known name
	ram a 1M
	tallyctl create m --notable --uuid u
	settle
	devices=$(our_disks) known=$(find /dev/blktally | sort)

	not_created 2 'empty' --notable ''
	not_created 2 'NAME' --notable
	not_created 1 'limit' --notable "$(printf 'n%.0s' {1..128})"
	for name in control . ..; do
		not_created 1 "name $name is reserved" --notable "$name"
	done
	not_created 1 'slash' --notable a/b
	not_created 1 'slash' --notable /dev/m
	not_created 1 '0x0a' --notable $'a\nb'
	not_created 1 '0x07' --notable $'\a'
	not_created 1 '0x7f' --notable $'a\x7f'
	not_created 1 'name m is taken' --notable m
	not_created 1 'name a is taken' --notable a
	not_created 1 'UUID u is taken by m' --notable --uuid u n
	not_created 1 '0x09' --notable --uuid $'a\tb' n
	not_created 1 '128' --notable --uuid "$(printf 'u%.0s' {1..129})" n
	not_created 2 'empty' --notable --uuid '' n
	not_created 1 'linux-9.9' --notable --profile linux-9.9 n
	not_created 1 'linux-9.9' --table "$(linear a 0 8)" --profile linux-9.9 n
	not_created 2 'nonsense' --notable --nonsense n

	for name in linux-9.9 inflight=fast pending=native ticks=x clock=minutes; do
		fails_with 1 "${name#*=}" tallyctl set m "$name"
	done
	fails_with 2 'colour' tallyctl set m colour=red
	fails_with 2 'empty' tallyctl set m clock=
	fails_with 1 'inflight' tallyctl set m ticks=round
	fails_with 1 'pending' tallyctl set m inflight=native pending=shared
	fails_with 3 'no device "n"' tallyctl set n none
	same 'none 0' "$(sysfs m profile) $(sysfs m switches)"
	refused 'Invalid argument' sysfs m profile linux-9.9
	refused 'Invalid argument' sysfs m mode_ticks round
	same 'none 0' "$(sysfs m profile) $(sysfs m switches)"
	fails_with 3 'not a mapped device' tallyctl suspend a
	tallyctl remove m
	tallyctl ram remove a
	no_trace_left
}

test_D05_one_winner()
{
	load_module tally_core
	load_module tally_map
	"$tools/twins.py" 30
	no_trace_left

	# And by the tool, which makes a link for the winner and none for the other.
	local n winners first second
	ram a 1M
	for n in 1 2 3; do
		map twin a 0 8 2>"$tmp/1" & first=$!
		map twin a 0 8 2>"$tmp/2" & second=$!
		winners=0
		! wait $first || winners=$((winners + 1))
		! wait $second || winners=$((winners + 1))
		same 1 $winners
		matches 'name twin is taken' "$(cat "$tmp/1" "$tmp/2")"
		dd if=/dev/blktally/twin of=/dev/null count=1 iflag=direct status=none
		tallyctl remove twin
	done
	wait_until opened a 0
}

test_O11_modules_that_are_not_there()
{
	local verb
	unload_modules
	rm -rf /dev/blktally
	for verb in ls table info deps targets profiles 'suspend m' 'ram list' \
		'create m --notable --no-load' 'remove m'; do
		# shellcheck disable=SC2086 # words
		fails_with 3 'tally_core' tallyctl $verb
		same 1 "$(wc -l <"$tmp/stderr")" "lines of $verb"
	done
	same '' "$(links)"
	load_module tally_core
	for verb in ls table info deps targets 'create m --notable --no-load'; do
		# shellcheck disable=SC2086
		fails_with 3 'tally_map is not loaded' tallyctl $verb
		same 1 "$(wc -l <"$tmp/stderr")" "lines of $verb"
	done
	fails_with 3 'tally_ram is not loaded' tallyctl ram list
	no_trace_left
	tallyctl create m --notable # loads it
	loaded tally_map
	tallyctl remove m
	no_trace_left
}

links() { find /dev/blktally -mindepth 1 ! -name control 2>/dev/null || true; }

test_O11_stale_node()
{
	load_module tally_core
	unload_modules
	mkdir -p /dev/blktally
	rm -f "$control"
	mknod "$control" c 10 250
	fails_with 3 'tally_core is not loaded' tallyctl ls
	same 1 "$(wc -l <"$tmp/stderr")"
	rm "$control"
	load_module tally_core
	load_module tally_map
	same 'tallyctl: no devices found' "$(tallyctl ls 2>&1)"
}

test_no_permission()
{
	local verb
	ram a 1M
	map m a 0 2048
	for verb in ls info 'suspend m' 'remove m' 'set m linux-5.0' 'create n --notable' \
		'ram remove a'; do
		# shellcheck disable=SC2086
		fails_with 4 'Permission denied' setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$bin/tallyctl/tallyctl" $verb
		# shellcheck disable=SC2086
		fails_with 4 'CAP_SYS_ADMIN' setpriv --bounding-set -sys_admin \
			"$bin/tallyctl/tallyctl" $verb
	done
	refused 'not permitted|Permission denied' setpriv --bounding-set -sys_admin \
		bash -c "echo linux-5.0 >/sys/block/$(disk_of m)/tally/profile"
	same none "$(sysfs m profile)"
	same $'tmap0\ntram0' "$(our_disks)"
	same false "$(info m suspended)"
}

test_O07_printed_table_is_a_fixed_point()
{
	local printed d
	ram a 1M
	d=$(dev_of a)
	tallyctl create m --table $'# two\n\n   0  0008   linear '"$(node_of a)"$'  0016  \r\n\t8\t1 linear\t'"$d 7"
	printed=$(tallyctl table m)
	same "0 8 linear $d 16"$'\n'"8 1 linear $d 7" "$printed"
	tallyctl load m --table "$printed"
	cmp <(tallyctl table m --inactive) <(tallyctl table m)
	tallyctl resume m
	cmp <(tallyctl table m) <(printf '%s\n' "$printed")
}
