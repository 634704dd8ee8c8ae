#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image of this commit a second time, from a clone in another place and with an empty
# build cache, as somebody else would; compares it with that in dist, file by file; and looks at
# what is in it. The argument is the version of Go.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN=$1

test -z "$(git status --porcelain)" || { echo "image-check: the tree is dirty; commit, and build from that" >&2; exit 1; }
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone --quiet . "$clone/slipway"
git -C "$clone/slipway" checkout --quiet --detach "$(git rev-parse HEAD)"

began=$SECONDS
(cd "$clone/slipway/images" && GOCACHE=$clone/cache go run . build >"$clone/digest")
diff -r dist/image "$clone/slipway/dist/image"
for list in dist/*.cdx.json; do
	diff "$list" "$clone/slipway/$list"
done
echo "image-check: built again with an empty cache, in $((SECONDS - began)) s: $(cat "$clone/digest") as well"

cd images
SLIPWAY_IMAGE=../dist go test -count=1 -v -run 'Slipway' .
