#!/usr/bin/env bash
# Fetches the meshes whose own code test/conformance/meshes runs:
#
#   build/mesh-sources.sh DIR
#
# Repositories that DIR already has are left as they are. MESH_REMOTE is the
# server that has them, GitHub by default.
set -euo pipefail
dir=${1:?usage: build/mesh-sources.sh DIR}
remote=${MESH_REMOTE:-https://github.com}

while read -r repository revision; do
	to=$dir/${repository##*/}
	[ ! -e "$to" ] || continue
	echo "fetching $repository, $revision" >&2
	git init -q "$to.part"
	git -C "$to.part" fetch -q --depth 1 "$remote/$repository" "$revision"
	git -C "$to.part" checkout -q FETCH_HEAD
	mv "$to.part" "$to"
done <<'EOF'
linkerd/linkerd2 b24cd4059841f8cee2fb7a9c2ac23a693c583579
linkerd/linkerd2-proxy-init refs/tags/proxy-init/v2.4.9
hashicorp/consul-k8s a507b1d1e3061996dbed00cde73bba2bf068379f
kumahq/kuma refs/tags/v2.14.3
EOF
