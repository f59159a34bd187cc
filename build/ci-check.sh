#!/usr/bin/env bash
# The gate of action.yml: check the manifests, and where something is wrong
# show the diff that would repair it.
#
#   ci-check.sh PROGRAM     with PATHS, CONFIG, STRICT and SARIF from the environment
set -euo pipefail
program=$1
read -ra paths <<<"$PATHS"
flags=()
[ -z "${CONFIG:-}" ] || flags+=(--config "$CONFIG")
[ "${STRICT:-false}" != true ] || flags+=(--strict)

if [ -n "${SARIF:-}" ]; then
  "$program" check -o sarif "${flags[@]}" "${paths[@]}" >"$SARIF" || true
fi
if "$program" check "${flags[@]}" "${paths[@]}"; then
  exit 0
fi
echo
echo "This would repair it (rewrite-probes -w ${paths[*]}):"
"$program" -d "${flags[@]}" "${paths[@]}" || true
exit 1
