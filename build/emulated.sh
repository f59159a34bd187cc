#!/bin/sh
# emulated.sh EMULATOR DIR: the programs in DIR, of another processor, run, and rewrite real manifests as those in bin/ do.
set -eu
for p in rewrite-probes probe-proxy probe-agent; do "$1" "$2/$p" version; done
for input in examples/app/deploy "${REWRITE_PROBES_CORPUS:-../shared/corpus}"/*.yaml; do
	[ -e "$input" ] || continue # there is no corpus
	echo "$input"
	"$1" "$2/rewrite-probes" --config none "$input" >"$2/rewritten.yaml" 2>"$2/messages"
	bin/rewrite-probes --config none "$input" 2>"$2/messages.want" | cmp - "$2/rewritten.yaml"
	bin/rewrite-probes check --config none "$2/rewritten.yaml" 2>>"$2/messages.want" || echo "exit $?" >>"$2/messages.want"
	"$1" "$2/rewrite-probes" check --config none "$2/rewritten.yaml" 2>>"$2/messages" || echo "exit $?" >>"$2/messages"
	cmp "$2/messages.want" "$2/messages"
	"$1" "$2/rewrite-probes" restore --config none "$2/rewritten.yaml" 2>/dev/null >"$2/restored.yaml"
	bin/rewrite-probes restore --config none "$2/rewritten.yaml" 2>/dev/null | cmp - "$2/restored.yaml"
done
