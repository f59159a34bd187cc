#!/usr/bin/env bash
# Attaches to each image its SBOM, signed: what `cosign verify-attestation --type
# spdxjson` finds.
#
#   attest-images.sh DIGESTS     a file with lines "HEX  REPOSITORY:TAG"
set -euo pipefail
sbom=$(mktemp)
trap 'rm -f "$sbom"' EXIT
while read -r digest name; do
  image=${name%:*}@sha256:$digest
  syft scan "registry:$image" -o "spdx-json=$sbom"
  cosign attest --yes --type spdxjson --predicate "$sbom" "$image"
done <"$1"
