#!/bin/bash -eu
# Builds every fuzz test of the module for OSS-Fuzz, whose image defines
# compile_native_go_fuzzer_v2.
cd "$SRC/rewrite-probes"
grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' cmd internal transformer | sort |
while IFS=: read -r file name; do
	name=${name#func }
	compile_native_go_fuzzer_v2 "github.com/rewrite-probes/rewrite-probes/$(dirname "$file")" "$name" "$name"
done
