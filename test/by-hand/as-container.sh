#!/usr/bin/env bash
# Does the program run as its image would with `docker run --read-only --cap-drop ALL --cap-add NET_BIND_SERVICE`? Without Docker: a
# mount namespace whose root is read-only, /data as the only place to write, a network of its own, user 5353, and nothing but that
# capability in the bounding set, which the node binary has as a file capability, as in the Dockerfile.
# Usage, as root, after `npm run build`: test/by-hand/as-container.sh NODE. Needs unshare, setpriv, setcap, ip, dig and curl.
# Exits with 0 when all went well. Last run on 2026-11-22, with Node 24: all went well.
set -euo pipefail
if [ "${1:-}" != inside ]; then
  root=$(readlink -f "$(dirname "$0")/../..")
  node=$(readlink -f "${1:?usage: test/by-hand/as-container.sh NODE}")
  exec unshare --mount --net --pid --fork --mount-proc -- "$(readlink -f "$0")" inside "$root" "$node"
fi
root=$2
node=$3

fail() {
  echo "as a container: $1" >&2
  cat /run/zoneplane-trial/data/log >&2 || true
  exit 1
}

mount --make-rprivate /
ip link set lo up
# What the image has: the program, a node binary with the file capability, /data and /zones.
mount -t tmpfs -o mode=0755 trial /run
mkdir -p /run/zoneplane-trial/data /run/zoneplane-trial/zones
cd /run/zoneplane-trial
cp "$node" node
setcap cap_net_bind_service=+ep node
printf '$TTL 60\n@ SOA ns1.example.com. h.example.com. 1 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.2\n' > zones/example.com.zone
mount -t tmpfs -o mode=0700,uid=5353,gid=5353 data data
# Everything else is read-only, as with --read-only; no /tmp either.
findmnt --noheadings --raw --output TARGET | grep -v -e '^/proc' -e '^/sys' -e '^/dev' -e '/run/zoneplane-trial/data$' | sort -r |
  while read -r place; do mount -o remount,bind,ro "$place" 2>/dev/null || [ "$place" != / ] || fail 'the root cannot be made read-only'; done
if touch /run/zoneplane-trial/written 2>/dev/null; then fail 'the root is writable'; fi

as_image() {
  setpriv --reuid 5353 --regid 5353 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all,+net_bind_service \
    env -i PATH=/usr/bin:/bin NODE_ENV=production ZONEPLANE_DATA_DIR="$PWD/data" ZONEPLANE_ZONES_DIR="$PWD/zones" \
    ZONEPLANE_ADMIN_HOST=0.0.0.0 ZONEPLANE_RESOLVER_UPSTREAMS= ZONEPLANE_ADMIN_KEY=trial-key-0123456789-0123456789-0123456789 \
    "$PWD/node" "$root/build/src/main.js" "$@"
}

as_image serve > data/log 2>&1 &
server=$!
until grep -q '"ready"' data/log; do
  kill -0 "$server" 2>/dev/null || fail 'it ended'
  sleep 0.2
done
[ "$(dig +short +tries=1 @127.0.0.1 www.example.com A)" = 192.0.2.2 ] || fail 'port 53 does not answer over UDP'
[ "$(dig +short +tcp +tries=1 @127.0.0.1 www.example.com A)" = 192.0.2.2 ] || fail 'port 53 does not answer over TCP'
as_image record add example.com new A 192.0.2.9 > /dev/null || fail 'a record cannot be added'
for _ in $(seq 50); do
  found=$(dig +short +tries=1 @127.0.0.1 new.example.com A)
  [ "$found" = 192.0.2.9 ] && break
  sleep 0.1
done
[ "$found" = 192.0.2.9 ] || fail 'the record is not served'
curl --silent --fail http://127.0.0.1:8053/readyz > /dev/null || fail '/readyz'
as_image healthcheck > /dev/null || fail 'healthcheck'
as_image zone export example.com > /dev/null || fail 'export'
# Only processes of this namespace are seen here.
for pid in $(pgrep --full build/src/main.js); do
  [ "$(awk '/^CapBnd/ {print $2}' "/proc/$pid/status")" = 0000000000000400 ] || fail 'a process has other capabilities in its bounding set'
done
kill "$(pgrep --full --oldest 'main.js serve$')"
wait "$server" || fail 'it did not end by itself'
echo "as a container: port 53 with a read-only root and one capability, on $("$PWD/node" --version)"
