#!/bin/sh
# arch32.sh: print 386 if this machine runs its programs, which not every kernel on amd64 does, or else arm, for qemu.
set -eu
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
echo 'package main; func main() {}' >"$dir/main.go"
GOARCH=386 CGO_ENABLED=0 "${GO:-go}" build -o "$dir/main" "$dir/main.go"
if "$dir/main" 2>/dev/null; then echo 386; else echo arm; fi
