#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds all files of a release into dist, from a clone of this commit: image, lists of modules, chart, manifests, archives of
# kubectl-slipway, the manifest for krew, release notes, and checksums. The same commit gives the same files. The
# arguments are the version, such as v0.1.0, and the version of Go.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1#v}
export GOTOOLCHAIN=$2 CGO_ENABLED=0
image=ghcr.io/slipway-k8s/slipway
downloads=https://github.com/slipway-k8s/slipway/releases/download/v$version
dist=$PWD/dist

fail() { echo "release: $*" >&2; exit 1; }
test -z "$(git status --porcelain)" || fail "the tree is dirty; commit, and build from that"
for field in "version: $version" "appVersion: \"$version\""; do
	grep -qx "$field" charts/slipway/Chart.yaml || fail "charts/slipway/Chart.yaml lacks the line $field"
done
notes=$(awk -v version="$version" '/^## / { inside = $2 == version } inside && !/^## /' CHANGELOG.md)
test -n "$notes" || fail "CHANGELOG.md has no section $version"

clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone --quiet . "$clone/slipway"
created=$(git log -1 --format=%ct)
rm -rf "$dist" && mkdir "$dist"
# pack FILE DIRECTORY NAMES...: an archive that depends only on the content of the files.
pack() { tar --create --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$created" --directory "$2" "${@:3}" | gzip --no-name >"$1"; }

echo "release: the image"
cd "$clone/slipway"
digest=$(cd images && go run . build)
cp -r dist/image dist/*.cdx.json "$dist"

echo "release: chart and manifests name $digest"
sed -i "s|^  digest: \"\"$|  digest: \"$digest\"|" charts/slipway/values.yaml
sed -i "s|$image:$version|$image@$digest|" config/install*.yaml
if grep -n "image:" config/install*.yaml | grep -v "$image@$digest"; then fail "these images have no digest"; fi
helm lint --quiet charts/slipway
pack "$dist/slipway-$version.tgz" charts slipway
cp config/install*.yaml "$dist"

krew=$dist/krew.yaml
cat >"$krew" <<MANIFEST
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: slipway
spec:
  version: v$version
  homepage: https://github.com/slipway-k8s/slipway
  shortDescription: Take nodes out of service and return them
  description: |
    Drains nodes on the server side: an agent on the node evicts pods within
    PodDisruptionBudgets, and reports its progress and its blockers. Maintains
    whole fleets, and predicts drains.
  caveats: |
    The cluster needs Slipway: kubectl slipway install
  platforms:
MANIFEST
for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
	os=${platform%/*} arch=${platform#*/} program=kubectl-slipway
	test "$os" != windows || program+=.exe
	echo "release: kubectl-slipway for $platform"
	mkdir "$clone/plugin" && cp LICENSE "$clone/plugin"
	GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags="-s -w -X github.com/slipway-k8s/slipway/internal/kubectl/cmd/status.released=v$version" -o "$clone/plugin/$program" ./cmd/kubectl-slipway
	archive=kubectl-slipway-$version-$os-$arch.tar.gz
	pack "$dist/$archive" "$clone/plugin" "$program" LICENSE
	rm -r "$clone/plugin"
	cat >>"$krew" <<MANIFEST
    - selector:
        matchLabels: {os: $os, arch: $arch}
      uri: $downloads/$archive
      sha256: $(sha256sum "$dist/$archive" | cut -d ' ' -f 1)
      bin: $program
MANIFEST
done

cd "$dist"
echo "$notes" >notes.md
find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS
echo "release: $(wc -l <SHA256SUMS) files and the image $digest in dist"
