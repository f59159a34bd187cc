#!/usr/bin/env bash
# Downloads the release that action.yml is pinned to, and verifies it before anything of it runs.
#
#   ci-install.sh FOLDER     puts the program there; REF (a release's tag or its commit), OS and ARCH
#                            (as the runner names them) and GH_TOKEN come from the environment
set -euo pipefail
folder=$1
repository=rewrite-probes/rewrite-probes

fail() {
  echo "::error title=rewrite-probes::$1"
  exit 1
}

tag=$REF
if [[ ! $tag =~ ^v[0-9] ]]; then
  # A commit: the release whose tag names it. Of a tag with a text of its own, ^{} is the commit.
  [ -n "$tag" ] || fail "The runner does not say which version the action has. Pin it to a release, as $repository@v0.1.0."
  tag=$(git ls-remote --tags "https://github.com/$repository" 'v*' | awk -v commit="$tag" '$1 == commit { sub("^refs/tags/", "", $2); sub("\\^\\{\\}$", "", $2); print $2; exit }')
  [ -n "$tag" ] || fail "No release is at $REF. Pin the action to a release's tag, as $repository@v0.1.0, or to the commit of that tag."
fi

suffix=tar.gz
program=rewrite-probes
case $OS in
  Linux) os=linux ;;
  macOS) os=darwin ;;
  Windows) os=windows suffix=zip program=rewrite-probes.exe ;;
  *) fail "Releases have no program for $OS. Run the job on Linux, macOS or Windows." ;;
esac
case $ARCH in
  X64) arch=amd64 ;;
  ARM64) arch=arm64 ;;
  *) fail "Releases have no program for $ARCH. Run the job on X64 or ARM64." ;;
esac
archive=rewrite-probes_${tag#v}_${os}_${arch}.$suffix

mkdir -p "$folder"
cd "$folder"
for file in "$archive" SHA256SUMS; do
  curl -fsSLO --retry 3 "https://github.com/$repository/releases/download/$tag/$file" ||
    fail "The release $tag has no $file, or GitHub cannot be reached."
done
sum=$(awk -v file="$archive" '$2 == file { print $1 }' SHA256SUMS)
[ -n "$sum" ] || fail "SHA256SUMS of $tag does not name $archive."
if command -v sha256sum >/dev/null; then is=$(sha256sum <"$archive"); else is=$(shasum -a 256 <"$archive"); fi
[ "${is%% *}" = "$sum" ] || fail "$archive has the checksum ${is%% *}, and SHA256SUMS of $tag says $sum."
# Who could change the archive could change its checksum. Not so the provenance, which names the workflow and the tag.
command -v gh >/dev/null || fail "The action verifies the release by the program gh, which is not on this runner. Install it: https://cli.github.com"
gh attestation verify "$archive" --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yaml" --source-ref "refs/tags/$tag" ||
  fail "Nothing shows that the release workflow of $tag made $archive."

case $suffix in
  zip) unzip -qo "$archive" "$program" ;;
  *) tar -xzf "$archive" "$program" ;;
esac
