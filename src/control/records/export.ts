/**
 * Use case: a zone as text in chunks, so that a large one is never completely in memory. All chunks show the zone as it
 * was when the first one was requested.
 */

import { Type } from '../../dns/codes.js';
import { nameOfOwnerKey } from '../../dns/name.js';
import { ONE_SECOND } from '../../dns/ttl.js';
import {
  compareSections,
  type ExportRecord,
  type ExportSection,
  NO_ATTRIBUTES,
  writeV4Export,
} from '../../dns/zonefile/writer.js';
import { type Balanced, balancedAt, balancedRecords, isHiddenType } from '../../serving/balanced.js';
import { ownerText } from '../../serving/difference.js';
import { type ServingZone, servingZone } from '../../serving/zone.js';
import { loadBalancersOfZone } from '../../store/balancing/load-balancers.js';
import type { Store } from '../../store/driver.js';
import { openSnapshot } from '../../store/handle/snapshot.js';
import { endOf, isLinked } from '../../store/records/indexed-settings.js';
import {
  parseSettings,
  parseTags,
  type RecordRow,
  type RecordSettings,
  recordsOfOwner,
  recordsOfType,
  recordsOfZone,
  typesOfZone,
} from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { hostRecords } from '../../zone/derive/hosts.js';
import type { RecordFacts } from '../../zone/derive/owner.js';
import { soaRdata } from '../../zone/derive/soa.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { printInstant } from '../rules/instant.js';
import { isAddress } from '../rules/pointers.js';
import { isProxiableType } from '../rules/proxiable.js';
import { shownTtl } from '../rules/ttl.js';
import { dnsSettingsItem, zoneItem } from '../zones/item.js';
import { recordItem } from './item.js';

/**
 * 'bind': a zone file (RFC 1035 §5) in the layout of v4 exports, SOA and NS included, whose import gives the same zone
 * again (v4: §7.2). 'json': one document `{zone, settings, records}`.
 */
export async function* exportZone(ctx: Context, zoneId: string, format: 'bind' | 'json'): AsyncGenerator<string> {
  requireZone(ctx, zoneId);
  const snapshot = openSnapshot(ctx.store);
  try {
    const { store } = snapshot;
    const zone = requireZone({ ...ctx, store }, zoneId);
    yield* format === 'bind' ? exportBind(ctx, store, zone) : exportJson({ ...ctx, store }, zone);
  } finally {
    snapshot.close();
  }
}

function exportBind(ctx: Context, store: Store, zone: ZoneRow): Generator<string> {
  const exportedAt = new Date(ctx.clock.nowMs()).toISOString().slice(0, 19).replace('T', ' ');
  return writeV4Export(zone.apex, exportedAt, sectionsOf(ctx, store, zone));
}

function* sectionsOf(ctx: Context, store: Store, zone: ZoneRow): Generator<ExportSection> {
  const balanced = balancedOwners(store, zone.seq);
  const added = addedRecords(store, servingZone(store, zone, ctx.settings), balancedExports(balanced, zone.apex));
  const types = [...new Set([...added.keys(), ...typesOfZone(store, zone.seq)])].sort(compareSections);
  for (const type of types) {
    const rows = notHidden(recordsOfType(store, zone.seq, type), balanced);
    const records = concat(added.get(type) ?? [], exportRecords(rows, zone.apex));
    yield { type, records };
  }
}

/** By the owner key of its load balancer, as text; those that are enabled. */
type BalancedOwners = ReadonlyMap<string, Balanced>;

function balancedOwners(store: Store, zone: number): BalancedOwners {
  const rows = loadBalancersOfZone(store, zone).filter(({ enabled }) => enabled === 1);
  return new Map(rows.map((row) => [ownerText(row.owner_key), balancedAt(store, zone, row.owner_key)!]));
}

/** Without what load balancers hide. */
function* notHidden(rows: Iterable<RecordRow>, balanced: BalancedOwners): Generator<RecordRow> {
  for (const row of rows) {
    if (balanced.size === 0 || !isHiddenType(row.type) || !balanced.has(ownerText(row.owner_key))) yield row;
  }
}

function addressesOf(balanced: Balanced): RecordFacts[] {
  return balancedRecords(balanced, []).filter(({ type }) => isHiddenType(type));
}

/** What stands in other programs for load balancers, which an import does not make. */
function balancedExports(balanced: BalancedOwners, apex: Uint8Array): ExportRecord[] {
  return [...balanced.values()].flatMap((each) =>
    addressesOf(each).map(({ type, ttl, proxied, rdata, flattenCname = false }) => ({
      ...{ owner: nameOfOwnerKey(each.row.owner_key, apex), type, ttl: shownTtl(ttl), rdata },
      attributes: { ...NO_ATTRIBUTES, proxied, flattenCname, comment: 'in place of a load balancer' },
    })),
  );
}

/**
 * What is served and not stored, by type: without the addresses of name servers inside the zone, other servers refuse to load
 * the file (RFC 1034 §4.2.1).
 */
function addedRecords(store: Store, zone: ServingZone, balanced: readonly ExportRecord[]): Map<number, ExportRecord[]> {
  const { facts, hosts, hostAddresses, seq } = zone;
  const { apex, soa, nsTtl, nameServers } = facts;
  const rr = (owner: Uint8Array, type: number, ttl: number, rdata: Uint8Array): ExportRecord => {
    return { owner, type, ttl, rdata, attributes: NO_ATTRIBUTES };
  };
  const addresses = hosts.flatMap((key) =>
    hostRecords(recordsOfOwner(store, seq, key), hostAddresses, nsTtl).map(({ type, ttl, rdata }) =>
      rr(nameOfOwnerKey(key, apex), type, ttl, rdata),
    ),
  );
  return new Map<number, ExportRecord[]>([
    [Type.soa, [rr(apex, Type.soa, soa.ttl, soaRdata(soa))]],
    [Type.ns, nameServers.map((name) => rr(apex, Type.ns, nsTtl, name))],
    ...Map.groupBy([...addresses, ...balanced], ({ type }) => type),
  ]);
}

function* concat<T>(...lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}

function* exportRecords(rows: Iterable<RecordRow>, apex: Uint8Array): Generator<ExportRecord> {
  for (const row of rows) {
    yield {
      owner: nameOfOwnerKey(row.owner_key, apex),
      type: row.type,
      ttl: shownTtl(row.ttl),
      rdata: row.rdata,
      attributes: {
        comment: row.comment,
        tags: parseTags(row.tags),
        proxied: isProxiableType(row.type) ? row.proxied === 1 : undefined,
        flattenCname: parseSettings(row.settings).flatten_cname === true,
        family: familyOf(parseSettings(row.settings)),
        exactTtl: row.ttl === ONE_SECOND,
        ptr: isAddress(row.type) && isLinked(row),
        expires: printOptional(endOf(row)),
      },
    };
  }
}

function printOptional(us: number | undefined): string | undefined {
  return us === undefined ? undefined : printInstant(us);
}

function familyOf({ ipv4_only: onlyIPv4, ipv6_only: onlyIPv6 }: RecordSettings): 'ipv4' | 'ipv6' | undefined {
  if (onlyIPv4) return 'ipv4';
  return onlyIPv6 ? 'ipv6' : undefined;
}

function* exportJson(ctx: Context, zone: ZoneRow): Generator<string> {
  const { id, name, asciiName, type, paused, soa } = zoneItem(ctx, zone);
  const head = { id, name, ascii_name: asciiName, type, paused, serial: soa.serial };
  const {
    multiProvider,
    flattenAllCnames,
    nsTtl,
    zoneMode,
    soa: own,
  } = dnsSettingsItem(zone, ctx.settings.nameServers);
  const { minTtl, ...timers } = own;
  const settings = {
    multi_provider: multiProvider,
    flatten_all_cnames: flattenAllCnames,
    ns_ttl: nsTtl,
    zone_mode: zoneMode,
    soa: { ...timers, min_ttl: minTtl },
  };
  yield `{"zone":${JSON.stringify(head)},\n"settings":${JSON.stringify(settings)},\n"records":[`;
  let separator = '\n';
  for (const row of recordsOfZone(ctx.store, zone.seq)) {
    const item = recordItem(row, zone);
    const { proxied, ttl, comment, tags, content, data, priority, expiresAt } = item;
    const record = {
      id: item.id,
      name: item.name,
      type: item.type,
      content,
      data,
      priority,
      ttl,
      proxied,
      comment,
      tags,
      expires_on: printOptional(expiresAt),
    };
    yield `${separator}${JSON.stringify({ ...record, settings: item.settings })}`;
    separator = ',\n';
  }
  yield '\n]}\n';
}
