/** What shows whose a name is: everything that is answered, routed, certified or refused because of it, as text without identifiers. */
import { mayOrder } from '../../src/certs/issuance/may-order.js';
import { delegationHere } from '../../src/control/dnssec/parental-agent.js';
import { holdsHostnames, isHeldFrom } from '../../src/control/rules/hold.js';
import { zonesAtOrAbove } from '../../src/control/zones/write.js';
import { parseName } from '../../src/dns/name.js';
import { certificatesFor } from '../../src/hostnames/routing/certificates-for.js';
import { findRoute } from '../../src/hostnames/routing/find-route.js';
import { policyOf } from '../../src/hostnames/routing/tls-policy.js';
import { createOwnZones } from '../../src/resolver/own-zones.js';
import { accountServing } from '../../src/serving/hostname-proof.js';
import { findZoneAbove } from '../../src/serving/look-up.js';
import { isProven } from '../../src/serving/name-owner.js';
import { findRequest } from '../../src/store/certs/requests.js';
import { findHostname } from '../../src/store/hostnames/hostnames.js';
import { recordsOfZone } from '../../src/store/records/records.js';
import { findZone, findZoneById, type ZoneRow } from '../../src/store/zones/zones.js';
import type { World } from './tenant-world.js';

type View = Readonly<Record<string, unknown>>;

/** Of a host in a zone of an account. */
export function viewOfHost(world: World, by: string, host: string): View {
  const { store, settings, clock } = world;
  const wire = parseName(`${host}.`);
  const account = world.accountNumber(by);
  const route = findRoute(store, settings, host);
  const certificates = certificatesFor(store, host, route.holders, clock.nowMs());
  const own = createOwnZones(store, settings);
  const serving = accountServing(store, host, wire);
  const { zone, zones, holders, hostname, ...way } = route;
  return {
    dns: answerAt(world, by, host),
    heard: [own.ask(wire, 'A', account), own.ask(wire, 'A', undefined), own.ask(wire, 'TXT', account)].map((said) =>
      'zone' in said && said.zone !== undefined ? { ...said, zone: nameOf(world, findZone(store, said.zone)) } : said,
    ),
    route: { ...way, zone: nameOf(world, zone && findZone(store, zone.seq)), hostname: hostname?.hostname ?? null },
    holders: holders.map(({ kind, id, tls }) => [ownerOf(world, `${kind}:${id}`), tls]),
    certificate: certificates && [ownerOf(world, certificates.owner), policyOf(route, certificates.owner)],
    challenges: serving === undefined ? null : world.accountName(serving),
    held: zonesAtOrAbove(store, host)
      .filter((row) => row.account !== account)
      .flatMap((row) => [
        isHeldFrom(row, { name: host, account }, clock.nowUs()),
        holdsHostnames(row, account, clock.nowUs()),
      ])
      .includes(true),
  };
}

/** What the resolver says to an account about a name to which its records lead. */
export function viewOfTarget(world: World, by: string, target: string): View {
  const own = createOwnZones(world.store, world.settings);
  return { heard: own.ask(parseName(`${target}.`), 'A', world.accountNumber(by)) };
}

/** Of a zone itself. */
export function viewOfZone(world: World, zone: ZoneRow | undefined): View {
  if (!zone) return { status: 'none' };
  const others = { name: `any.${zone.name}`, account: 0 };
  const parent = delegationHere(world, zone)?.parent;
  const request = findRequest(world.store, 'zone', Buffer.from(zone.id).toString('hex'));
  return {
    status: zone.status,
    served: zone.served,
    parent: nameOf(world, parent),
    holds: isHeldFrom(zone, others, world.clock.nowUs()),
    orders: request ? mayOrder(world.store, request) : null,
  };
}

function answerAt(world: World, by: string, host: string): unknown {
  const zone = findZoneAbove(world.store, parseName(`${host}.`), ({ served }) => served === 1);
  // A claim of the account's own that nothing has proven, above a zone that is served elsewhere, may be contested.
  if (!zone || (!isProven(zone) && world.accountName(zone.account) === by)) return null;
  const rows = [...recordsOfZone(world.store, zone.seq)].filter(
    (row) => host === row.name || host.endsWith(`.${row.name}`),
  );
  return [
    nameOf(world, zone),
    rows.map(({ name, type, content, proxied }) => [name, type, content, proxied].join(' ')).sort(),
  ];
}

function nameOf(world: World, zone: ZoneRow | undefined): string | null {
  return zone ? `${zone.name} of ${world.accountName(zone.account)}` : null;
}

function ownerOf(world: World, owner: string): string {
  const [kind, id = ''] = owner.split(':');
  if (kind === 'zone') return `zone ${nameOf(world, findZoneById(world.store, Buffer.from(id, 'hex')))}`;
  const row = findHostname(world.store, id);
  return `hostname ${row?.hostname} in ${row && nameOf(world, findZone(world.store, row.zone))}`;
}
