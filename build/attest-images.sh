#!/usr/bin/env bash
# Attaches its signed SBOM to each image, for `cosign verify-attestation --type
# spdxjson`.
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
