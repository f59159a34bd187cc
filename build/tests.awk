# Filters the output of `go test -v` for people: everything that a failed test
# printed, each skipped test with its reason, and the closing lines.
/^panic: / { loud = 1 }
loud { print; next }
/^=== (RUN|NAME|CONT) / { name = $3; next }
/^=== PAUSE / { next }
/^ *--- FAIL: / { printf "%s%s\n", said[$3], $0; next }
/^ *--- SKIP: / { skipped[++n] = $3 ": " why[$3]; next }
/^ *--- PASS: / { next }
/^(ok  |FAIL)\t/ { closing = closing $0 "\n"; name = ""; next }
/^(PASS|FAIL)$/ { next }
name == "" { print; next }
{ said[name] = said[name] $0 "\n" }
/^ *[a-z_]+\.go:[0-9]+: / { reason = $0; sub(/^ *[a-z_]+\.go:[0-9]+: /, "", reason); why[name] = reason }
END {
	for (i = 1; i <= n; i++) print "skipped: " skipped[i]
	printf "%s", closing
}
