#!/usr/bin/env bash
# Shows a zone of ours to programs that examine name servers: zonemaster, dnsviz, and the EDNS compliance queries of ISC.
# By hand, as root, with Debian's zonemaster-cli, dnsviz, bind9-dnsutils and nsd:   test/conformance/field-tools.sh
# Everything runs in a network of its own, with a root and a top-level domain served by NSD, so that the delegation is real. All zones are signed;
# DENIAL=nsec3 proves absence with NSEC3.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "${1:-}" != inside ]; then exec unshare --net --mount-proc --pid --fork "$0" inside; fi

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
ip link set lo up
root=9.1.0.1 top=9.1.0.2 first=9.2.0.1 second=9.3.0.1 first6=2a01:1::1 second6=2a02:1::1
for address in $root $top $first $second; do ip address add "$address/32" dev lo; done
for address in $first6 $second6; do ip address add "$address/128" dev lo; done

mkdir "$work/nsd" "$work/zones"
cat >"$work/nsd/root" <<ZONE
. 3600 SOA a.root.test. hostmaster.root.test. 1 7200 3600 1209600 3600
. 3600 NS a.root.test.
a.root.test. 3600 A $root
test. 3600 NS ns.test.
ns.test. 3600 A $top
ZONE
cat >"$work/nsd/test" <<ZONE
test. 3600 SOA ns.test. hostmaster.root.test. 1 7200 3600 1209600 3600
test. 3600 NS ns.test.
ns.test. 3600 A $top
root.test. 3600 NS ns.test.
a.root.test. 3600 A $root
zoneplane.test. 3600 NS ns1.zoneplane.test.
zoneplane.test. 3600 NS ns2.zoneplane.test.
ns1.zoneplane.test. 3600 A $first
ns1.zoneplane.test. 3600 AAAA $first6
ns2.zoneplane.test. 3600 A $second
ns2.zoneplane.test. 3600 AAAA $second6
ZONE
cat >"$work/zones/zoneplane.test.zone" <<ZONE
\$ORIGIN zoneplane.test.
\$TTL 3600
@ SOA ns1 hostmaster 2026112101 14400 3600 1209600 3600
@ NS ns1
@ NS ns2
@ MX 10 mail
@ TXT "v=spf1 mx -all"
@ CAA 0 issue "ca.example"
ns1 A $first
ns1 AAAA $first6
ns2 A $second
ns2 AAAA $second6
mail A $first
www A $second
*.wild A $first
alias CNAME www
ZONE
ZONEPLANE_DATA_DIR="$work/data" ZONEPLANE_ZONES_DIR="$work/zones" ZONEPLANE_DNS_PORT=53 ZONEPLANE_LOG_LEVEL=warn \
  ZONEPLANE_DNS_HOST="$first,$second,$first6,$second6" ZONEPLANE_RESOLVER_UPSTREAMS='' node build/src/main.js serve &
for _ in $(seq 100); do dig +short +tries=1 +time=1 "@$first" zoneplane.test SOA >/dev/null 2>&1 && break; sleep 0.1; done

# Our zone signs itself; its DS record goes into the zone above, and so on up to the trust anchor.
sign() { # sign NAME FILE: prints the DS record of the zone
  (cd "$work/nsd"
    ksk=$(ldns-keygen -k -a ECDSAP256SHA256 "$1") zsk=$(ldns-keygen -a ECDSAP256SHA256 "$1")
    ldns-signzone -o "$1" -f "$2.signed" "$2" "$ksk" "$zsk"
    cat "$ksk.ds")
}
cli() { ZONEPLANE_DATA_DIR="$work/data" node build/src/main.js "$@"; }
ds=$(cli dnssec enable zoneplane.test --denial "${DENIAL:-nsec}" | sed -n 's/.* IN DS //p')
echo "zoneplane.test. 3600 DS $ds" >>"$work/nsd/test"
sign test. test >>"$work/nsd/root"
sign . root >"$work/anchor"

for server in root test; do
  address=$([ $server = root ] && echo $root || echo $top)
  cat >"$work/nsd/$server.conf" <<CONF
server:
  ip-address: $address
  username: ""
  chroot: ""
  pidfile: "$work/nsd/$server.pid"
  database: ""
  zonelistfile: "$work/nsd/$server.list"
  xfrdfile: "$work/nsd/$server.xfrd"
  zonesdir: "$work/nsd"
remote-control:
  control-enable: no
zone:
  name: "$([ $server = root ] && echo . || echo test.)"
  zonefile: "$server.signed"
CONF
  nsd -d -c "$work/nsd/$server.conf" 2>"$work/nsd/$server.log" &
done
for _ in $(seq 100); do dig +short +tries=1 +time=1 "@$root" . SOA >/dev/null 2>&1 && break; sleep 0.1; done

echo '== zonemaster: everything above INFO'
printf '. 3600 NS a.root.test.\na.root.test. 3600 A %s\n' $root >"$work/hints"
zonemaster-cli --hints "$work/hints" --level NOTICE --show-testcase --no-progress zoneplane.test || true

echo '== dnsviz: errors and warnings'
dnsviz probe -A -x "zoneplane.test+:ns1.zoneplane.test=$first,ns2.zoneplane.test=$second" -N \
  "zoneplane.test:ns1.zoneplane.test=$first,ns2.zoneplane.test=$second" -D "zoneplane.test:$ds" \
  zoneplane.test >"$work/probe.json" 2>"$work/probe.log" || cat "$work/probe.log"
dnsviz grok -l warning <"$work/probe.json" || true
printf '(%s lines of information)\n' "$(dnsviz grok -l info <"$work/probe.json" | wc -l)"

echo '== EDNS compliance (the queries of genreport): status and flags'
ask() { printf '%-44s ' "$1"; dig +norecurse +tries=1 "@$first" zoneplane.test $1 |
  awk '/status:/ {sub(",","",$6); s=$6} /^;; flags:/ {split($0,f,";"); g=f[3]} /EDNS: version/ {e=$0} END {print s " |" g " |" e}'; }
for options in 'SOA +noedns' 'SOA +edns=0' 'SOA +edns=100 +noednsnegotiation' 'SOA +ednsopt=100' 'SOA +ednsflags=0x80' 'SOA +dnssec' \
  'SOA +edns=100 +noednsnegotiation +dnssec' 'SOA +edns=100 +noednsnegotiation +ednsopt=100' 'DNSKEY +dnssec +bufsize=512' \
  'SOA +dnssec +tcp' 'SOA +cookie=0102030405060708' 'SOA +nsid' 'SOA +subnet=0.0.0.0/0' 'TYPE666' 'SOA +opcode=15' 'SOA +noedns +zflag' \
  'SOA +noedns +adflag' 'SOA +tcp +keepalive'; do ask "$options"; done
