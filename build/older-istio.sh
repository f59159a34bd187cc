#!/usr/bin/env bash
# Builds the programs of older Istios, for test/conformance/installed and test/e2e/cluster:
#
#   build/older-istio.sh DIR [VERSION]
#
# DIR/VERSION/injector asks its injector, which takes about five minutes of one CPU. With VERSION it builds that release
# alone, and its istiod and agent, with the bootstrap of its Envoy. All are built in a module with Istio's own requirements,
# at the commit of the release. Programs that are there are left as they are.
set -euo pipefail
dir=${1:?usage: build/older-istio.sh DIR [VERSION]} only=${2:-}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
source=$(cd "$(dirname "$0")/../test/conformance/installed/testdata/older" && pwd)
export GOFLAGS=-mod=mod CGO_ENABLED=0

# The tag of a build chooses the file with Istio's watcher. Releases can require a version of client-go that is not to be
# had: then they get its release.
known=()
while read -r version commit tag client; do
	known+=("$version")
	[ -z "$only" ] || [ "$only" = "$version" ] || continue
	programs=(injector)
	[ -z "$only" ] || programs=(pilot-discovery pilot-agent injector)
	[ ! -e "$dir/$version/injector" ] || [ ! -e "$dir/$version/${programs[0]}" ] || continue
	echo "building Istio $version" >&2
	mkdir -p "$dir/$version"
	module=$(mktemp -d)
	cp "$source"/*.go "$module"
	cd "$module"
	go mod init older 2>/dev/null
	istio=$(go mod download -json "istio.io/istio@$commit" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	sed 's/^module .*/module older/' "$istio/go.mod" >go.mod
	cat "$istio/go.sum" >go.sum
	go mod edit -require "istio.io/istio@$commit"
	if [ -n "$client" ]; then
		old=$(sed -n 's/^\tistio.io\/client-go \(v[^ ]*\).*/\1/p' go.mod)
		go mod edit -require "istio.io/client-go@$client" -replace "istio.io/client-go@$old=istio.io/client-go@$client"
	fi
	for program in "${programs[@]}"; do
		package=istio.io/istio/pilot/cmd/$program
		[ "$program" != injector ] || package=.
		go build -tags "$tag" -ldflags='-s -w' -o "$program.part" "$package"
		mv "$program.part" "$dir/$version/$program"
	done
	install -m 644 "$istio/tools/packaging/common/envoy_bootstrap.json" "$dir/$version"
	cd - >/dev/null
	rm -rf "$module"
done <<'EOF'
1.24.0 v0.0.0-20241105211601-8825a6b7f8c9 oldest v1.24.0
1.25.1 v0.0.0-20250322053744-be4b14ad8be8 meshwatcher v1.25.1
1.26.0 v0.0.0-20250506181944-c2e9871f340c meshwatcher v1.26.0
1.29.1 v0.0.0-20260306174214-6991a379e1fc meshwatcher
EOF
[ -z "$only" ] || [ -e "$dir/$only/pilot-agent" ] || { echo "$0: no $only; there are ${known[*]}" >&2; exit 1; }
