#!/usr/bin/env bash
# Writes the digest of the base image into the Dockerfile, so that builds can be repeated. Ask again for security updates: the image of
# a tag changes. Needs docker with buildx and the registry. Usage: test/by-hand/pin-base-image.sh [TAG], such as 24.21.0-bookworm-slim.
# Never run so far: the registry could not be reached where this was written.
set -euo pipefail
cd "$(dirname "$0")/../.."
tag=${1:-$(sed -nE 's/^ARG NODE_IMAGE=node:([^@]+).*/\1/p' Dockerfile)}
digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "docker.io/library/node:$tag")
[[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "no digest for node:$tag: $digest" >&2; exit 1; }
sed -i -E "s|^ARG NODE_IMAGE=.*|ARG NODE_IMAGE=node:$tag@$digest|" Dockerfile
grep '^ARG NODE_IMAGE=' Dockerfile
