#!/bin/sh
# plugin.yaml runs this in the folder of an application: it renders the manifests
# and pipes them through rewrite-probes. An empty output is an error, since it
# would make Argo CD, with prune, delete everything.
set -eu
set --
if [ -n "${PARAM_CONFIG:-}" ]; then set -- "$@" --config "$PARAM_CONFIG"; fi
# Argo CD shows what a plugin writes to stderr only when it fails.
if [ "${PARAM_STRICT:-true}" = true ]; then set -- "$@" --strict; fi
helm=
if [ "${PARAM_ENABLE_HELM:-false}" = true ]; then helm=--enable-helm; fi
rendered=$(kustomize build ${helm:+"$helm"} .)
result=$(printf '%s\n' "$rendered" | rewrite-probes "$@" -)
[ -n "$result" ] || { echo "error: rewrite-probes gave nothing back" >&2; exit 1; }
printf '%s\n' "$result"
