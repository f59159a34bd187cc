#!/usr/bin/env bash
# Fetches the real-world manifests that tests and the benchmark read:
#
#   build/corpus.sh DIR
#
# A file that DIR has already is fetched only if its checksum is wrong.
# CORPUS_REMOTE is the server that has the repositories, GitHub by default.
set -euo pipefail
dir=${1:?usage: build/corpus.sh DIR}
remote=${CORPUS_REMOTE:-https://github.com}
export PATH="$PWD/bin:$PATH" # the pinned kustomize
export LC_ALL=C              # sorts kube-prometheus' files
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each writes the manifests of the repository that it is in.
argocd() { cat manifests/install.yaml; }
msdemo() { cat release/kubernetes-manifests.yaml; }
kubeprom() { for f in manifests/*.yaml manifests/setup/*.yaml; do echo --- && cat "$f" && echo; done; }
# Pipelines and Trainer are left out: they have bases in other repositories.
kubeflow() {
	sed -i.orig -e '/\/pipeline\/overlays/d' -e '/\/trainer\/overlays/d' example/kustomization.yaml
	kustomize build example 2>"$work/kustomize.log" || { cat "$work/kustomize.log" >&2 && false; }
}

checksum() { sha256sum "$1" | cut -d ' ' -f 1; }

# A line is a name, its repository, the commit, the checksum of the manifests, and the paths they need.
mkdir -p "$dir"
while read -r name repository revision want paths; do
	to=$dir/$name.yaml part=$work/$name.yaml
	if [ -e "$to" ] && [ "$(checksum "$to")" = "$want" ]; then continue; fi
	echo "fetching $to from $repository, $revision" >&2
	git init -q "$work/$name"
	git -C "$work/$name" remote add origin "$remote/$repository"
	# Only the files below these paths are transferred.
	git -C "$work/$name" sparse-checkout set --no-cone $paths
	git -C "$work/$name" fetch -q --depth 1 --filter=blob:none origin "$revision"
	git -C "$work/$name" checkout -q FETCH_HEAD
	(cd "$work/$name" && "$name") >"$part"
	got=$(checksum "$part")
	[ "$got" = "$want" ] || { echo "$to is not written: the checksum of what $repository has is $got, want $want" >&2 && exit 1; }
	mv "$part" "$to"
done <<'END'
argocd argoproj/argo-cd 37ee0097cf851bc2dd7665fc081bbce61a7e836e 8e3566afe274f505ebaffbb7bbcb31f459ee7953a07ed161165ec551f3c3f2b9 manifests/install.yaml
kubeflow kubeflow/manifests 009c88084074904c7743384ff50d3bd70012ef55 243da476bc1356c28c6abd47e33a819f1f213314406df610e23570cf5605c625 applications common example
kubeprom prometheus-operator/kube-prometheus 4d719f1dea8853540b3823ab1fbe6be74a9953b3 c16c708988a1c9318959d5e00a9089d8a6b70e7675fe448e8a2e2dbc6770ea6e manifests
msdemo GoogleCloudPlatform/microservices-demo 34ffea9175946982c3088ed84994fe6019ad6e92 41a4736597543ee562c673c0c0446e2cc4bddf2b816c294690e83b38cfcc66a2 release/kubernetes-manifests.yaml
END
