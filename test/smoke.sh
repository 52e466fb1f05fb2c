#!/usr/bin/env bash
# Does the built program run on this Node.js? Starts it on ports of its own, asks over DNS, writes over HTTP, asks again, stops it.
# Usage, after `npm run build`: test/smoke.sh NODE [PROGRAM], where NODE is a node program and PROGRAM the main file of an
# installed zoneplane, if it is not to be that of this tree. Needs dig and curl. Exits with 0 when all went well.
set -euo pipefail
root=$(readlink -f "$(dirname "$0")/..")
node=$(readlink -f "${1:?usage: test/smoke.sh NODE [PROGRAM]}")
program=$(readlink -f "${2:-$root/build/src/main.js}")
# The program starts in an empty directory.
directory=$(mktemp -d)
cd "$directory"
touch "$directory/log"
server=

fail() {
  echo "smoke test on $("$node" --version): $1" >&2
  cat "$directory/log" >&2
  exit 1
}
finish() {
  if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$directory"
}
trap finish EXIT

read -r dns_port admin_port bucket_port < <("$node" -e "
  const servers = Array.from({ length: 3 }, () => require('node:net').createServer().listen(0, '127.0.0.1'));
  Promise.all(servers.map((server) => new Promise((done) => server.on('listening', done)))).then(() => {
    console.log(servers.map((server) => server.address().port).join(' '));
    for (const server of servers) server.close();
  });")
key=$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')

ZONEPLANE_ZONES_DIR="$root/zones" ZONEPLANE_ADMIN_KEY="$key" ZONEPLANE_RESOLVER_UPSTREAMS='' \
  ZONEPLANE_DNS_HOST=127.0.0.1 ZONEPLANE_DNS_PORT="$dns_port" ZONEPLANE_ADMIN_PORT="$admin_port" \
  ZONEPLANE_BUCKET_PORT="$bucket_port" "$node" "$program" serve >"$directory/log" 2>&1 &
server=$!

for _ in $(seq 300); do
  grep -q '"msg":"ready"' "$directory/log" && break
  kill -0 "$server" 2>/dev/null || fail 'it ended while starting'
  sleep 0.1
done
grep -q '"msg":"ready"' "$directory/log" || fail 'it was not ready within 30 seconds'

ask() { dig +short +tries=1 +time=5 "$@" @127.0.0.1 -p "$dns_port"; }
call() { curl -sSf -H "Authorization: Bearer $key" "$@"; }
api="http://127.0.0.1:$admin_port/client/v4"

[ -n "$(ask example.com SOA)" ] || fail 'no SOA over UDP'
[ -n "$(ask +tcp example.com SOA)" ] || fail 'no SOA over TCP'
zone=$(call "$api/zones?name=example.com" | "$node" -pe 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).result[0].id') ||
  fail 'the zones could not be listed'
call -o /dev/null -d '{"type":"A","name":"smoke","content":"192.0.2.77","ttl":300}' "$api/zones/$zone/dns_records" ||
  fail 'no record could be made'
for _ in $(seq 50); do
  [ "$(ask smoke.example.com A)" = 192.0.2.77 ] && break
  sleep 0.1
done
[ "$(ask smoke.example.com A)" = 192.0.2.77 ] || fail 'the new record is not answered'
call -o /dev/null "http://127.0.0.1:$admin_port/readyz" || fail 'it is not ready'

kill -TERM "$server"
code=0
wait "$server" || code=$?
server=
[ "$code" -eq 0 ] || fail "it ended with exit code $code"
echo "smoke test on $("$node" --version): passed"
