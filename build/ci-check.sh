#!/usr/bin/env bash
# The gate of action.yml: checks the manifests and, if it finds something, shows
# the diff that would repair it.
#
#   ci-check.sh PROGRAM     with PATHS, CONFIG, STRICT and SARIF from the environment
set -euo pipefail
program=$1
read -ra paths <<<"$PATHS"
flags=()
[ -z "${CONFIG:-}" ] || flags+=(--config "$CONFIG")
[ "${STRICT:-false}" != true ] || flags+=(--strict)

if [ -n "${SARIF:-}" ]; then
  # If nothing could be checked there is no file: an empty one would pass for a clean result.
  "$program" check -o sarif "${flags[@]}" "${paths[@]}" >"$SARIF.part" || true
  if [ -s "$SARIF.part" ]; then mv "$SARIF.part" "$SARIF"; else rm "$SARIF.part"; fi
fi
rc=0
"$program" check "${flags[@]}" "${paths[@]}" || rc=$?
if [ "$rc" -eq 1 ]; then
  echo
  echo "This would repair it (rewrite-probes -w ${paths[*]}):"
  "$program" -d "${flags[@]}" "${paths[@]}" || true
fi
exit "$rc"
