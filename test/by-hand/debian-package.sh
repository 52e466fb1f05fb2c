#!/usr/bin/env bash
# Does the package for Debian install, answer, upgrade, and leave what it should? In a fresh Debian 12 made by debootstrap, in a network
# of its own. Nothing runs systemd there, so the service is started as its unit says, as its user with its one capability.
# Usage, as root: test/by-hand/debian-package.sh PACKAGE.deb. Needs debootstrap, unshare, setpriv, ip, dig, lintian and systemd-analyze.
# Exits with 0 when all went well. Last run: see CONTRIBUTING.md.
set -euo pipefail
package=$(readlink -f "${1:?usage: test/by-hand/debian-package.sh PACKAGE.deb [ROOT]}")
root=${2:-}

fail() {
  echo "debian package: $1" >&2
  exit 1
}

if [ "${3:-}" != inside ]; then
  lintian --fail-on error "$package" || fail 'lintian found errors'
  if [ -z "$root" ]; then
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    debootstrap --variant=minbase bookworm "$root" >/dev/null
  fi
  # What it depends on is part of any Debian: nothing is fetched.
  unshare --mount --net --pid --fork --mount-proc -- "$(readlink -f "$0")" "$package" "$root" inside
  exit
fi

mount --make-rprivate /
ip link set lo up
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp "$package" "$root/tmp/zoneplane.deb"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
unit=$root/lib/systemd/system/zoneplane.service
serve() {
  start=$(sed -n 's/^ExecStart=//p' "$unit")
  chroot "$root" setpriv --reuid zoneplane --regid zoneplane --init-groups --inh-caps=-all,+net_bind_service \
    --ambient-caps=-all,+net_bind_service --bounding-set=-all,+net_bind_service --no-new-privs \
    env -i PATH=/usr/bin:/bin ZONEPLANE_DATA_DIR=/var/lib/zoneplane ZONEPLANE_RESOLVER_UPSTREAMS= \
    sh -c "cd /var/lib/zoneplane && exec $start" >>"$root/tmp/log" 2>&1 &
  server=$!
  until grep -q '"msg":"ready"' "$root/tmp/log"; do
    kill -0 "$server" 2>/dev/null || { cat "$root/tmp/log" >&2; fail 'it ended while starting'; }
    sleep 0.2
  done
}
stop() {
  kill "$server"
  wait "$server" || fail 'it did not end by itself'
  rm "$root/tmp/log"
}
answered() {
  for _ in $(seq 100); do
    [ -n "$(dig +short +tries=1 @127.0.0.1 example.org SOA)" ] && return
    sleep 0.1
  done
  fail "$1"
}

inside dpkg --install /tmp/zoneplane.deb || fail 'it cannot be installed'
inside dpkg --verify zoneplane || fail 'a file is not what its sum says'
[ "$(inside stat -c %U:%a /var/lib/zoneplane)" = zoneplane:700 ] || fail 'the data directory belongs to somebody else'
systemd-analyze security --offline=yes --threshold=30 "$unit" >/dev/null || fail 'the service is more exposed than 3.0'
inside test -s /usr/share/man/man1/zoneplane.1.gz || fail 'no manual page'
serve
# The second of two commands.
inside zoneplane zone create example.org >/dev/null || fail 'no zone can be created'
answered 'the new zone is not answered'
inside zoneplane record add example.org www A 192.0.2.1 >/dev/null
stop
[ -z "$(find "$root/var/lib/zoneplane" ! -uid "$(inside id -u zoneplane)")" ] || fail 'a command of root left files that the service cannot write'

echo 'ZONEPLANE_NAMESERVERS="ns1.example.org,ns2.example.org"' >>"$root/etc/default/zoneplane"
inside dpkg --install /tmp/zoneplane.deb >/dev/null || fail 'it cannot be upgraded'
grep -q ns1.example.org "$root/etc/default/zoneplane" || fail 'an upgrade lost settings'
serve
answered 'nothing is answered after an upgrade'
[ "$(dig +short @127.0.0.1 www.example.org A)" = 192.0.2.1 ] || fail 'a record was lost'
stop

inside dpkg --remove zoneplane >/dev/null
[ -e "$root/etc/default/zoneplane" ] || fail 'the removal lost settings'
inside dpkg --purge zoneplane || fail 'it cannot be purged'
[ ! -e "$root/etc/default/zoneplane" ] || fail 'settings are left after a purge'
[ ! -e "$root/usr/lib/zoneplane" ] || fail 'files are left after a purge'
[ -e "$root/var/lib/zoneplane/zoneplane.db" ] || fail 'a purge removed zones and keys'
echo 'debian package: installed, answered, upgraded, removed and purged'
