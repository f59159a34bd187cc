#!/bin/sh
# Runs a `go build -v` that takes long, and counts the packages on one line instead of naming
# each. Without a terminal the line only says what is built. Everything else that go says is shown.
#
#   build/count.sh NAME COMMAND...
name=$1
shift
terminal=
if [ -t 2 ]; then
	terminal=yes
else
	echo "building $name, once: this takes some minutes on a small machine" >&2
fi
rc=$({ { "$@" 2>&1; echo $? >&3; } | awk -v name="$name" -v terminal="$terminal" '
	/^go: downloading / || /^[^ :]+$/ {
		if ($1 == "go:") modules++; else packages++
		if (terminal) {
			printf "\rbuilding %s, once: %d modules downloaded, %d packages built", name, modules, packages
			fflush()
			open = "\n"
		}
		next
	}
	{ printf "%s%s\n", open, $0; open = "" }
	END { printf "%s", open }' >&2; } 3>&1)
exit "$rc"
