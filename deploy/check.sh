#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image of Dockerfile from a clone, without Docker and without a registry: with
# buildah, as root, on an image of this machine's Go and shell. It takes a minute or two.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v buildah >/dev/null || { echo "driver-image-check: needs buildah: apt-get install buildah" >&2; exit 1; }
test -z "$(git status --porcelain)" || { echo "driver-image-check: the tree is dirty; commit, and build from that" >&2; exit 1; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot
store=(buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs)
git clone --quiet . "$work/clone"

# A shell with its libraries, and Go: the module cache and the build cache are mounted.
base=$work/base
mkdir -p "$base"/{bin,tmp,etc/ssl,usr/local}
cp "$(readlink -f /bin/sh)" "$base/bin/sh"
ldd /bin/sh | grep -o '/[^ ]*' | xargs -I{} cp --parents -L {} "$base"
cp -r "$(go env GOROOT)" "$base/usr/local/go"
printf 'FROM scratch\nCOPY base /\nENV PATH=/usr/local/go/bin:/bin GOMODCACHE=/cache/mod GOCACHE=/cache/build\n' >"$work/Base"
"${store[@]}" bud --quiet --tag go:local --file "$work/Base" "$work" >/dev/null

"${store[@]}" bud --quiet --tag drain-driver:latest --build-arg GO_IMAGE=localhost/go:local --network host \
	--volume "$(go env GOMODCACHE):/cache/mod" --volume "$(go env GOCACHE):/cache/build" "$work/clone" >/dev/null

# It is one static program, which is not root's unless a pod says so, and starts.
container=$("${store[@]}" from drain-driver:latest)
root=$("${store[@]}" mount "$container")
test "$(ls "$root")" = drain-driver || { echo "driver-image-check: the image has $(ls "$root")" >&2; exit 1; }
chroot --userspec=65532:65532 "$root" /drain-driver kubelet-plugin --help | grep -q -- --grace-period
"${store[@]}" inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' drain-driver:latest | grep -qx '65532:65532 \[/drain-driver\]'
echo "driver-image-check: drain-driver:latest, $(stat -c %s "$root/drain-driver") bytes, is built and starts"
