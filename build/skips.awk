# Reads what `go test -v` prints and writes each test that was skipped, with the
# reason, and the closing lines.
/^=== (RUN|NAME|CONT) / { name = $3 }
/^ *[a-z_]+\.go:[0-9]+: / { reason = $0; sub(/^ *[a-z_]+\.go:[0-9]+: /, "", reason); why[name] = reason }
/^ *--- SKIP: / { print "skipped: " $3 ": " why[$3]; skipped++ }
/^(ok|FAIL)\t/
END { print skipped + 0 " skipped" }
