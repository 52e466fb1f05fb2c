/** The prerequisites of an update (RFC 2136 §2.4, §3.2): what must be served, or not, for it to be applied. */
import { toHex } from '../../base/bytes.js';
import { Class, Type } from '../../dns/codes.js';
import type { ReadRecord } from '../../dns/message.js';
import { isAtOrBelow, lowerName, ownerKeyOf, toFqdn } from '../../dns/name.js';
import { typeByCode, typeMnemonic } from '../../dns/rr/registry.js';
import type { RRset } from '../../dns/rr.js';
import { servedAtOwner } from '../../serving/owner.js';
import type { ServingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { updateFailure } from './errors.js';

/** A set that must be served exactly as it is listed. */
interface WantedSet {
  readonly record: ReadRecord;
  readonly datas: Set<string>;
}

/**
 * Checks all prerequisites, in their order, against what resolvers see. Throws a refusal of errors.ts. Call it inside a
 * write, or where it is noticed that the zone has changed before the update is applied. Yields after each.
 */
export function* requirePrerequisites(
  store: Store,
  zone: ServingZone,
  prerequisites: readonly ReadRecord[],
): Generator<undefined, void> {
  const { apex } = zone.facts;
  const wanted = new Map<string, WantedSet>();
  const known = new Map<string, readonly RRset[]>();
  const servedAt = (owner: Uint8Array): readonly RRset[] => {
    const name = toHex(lowerName(owner));
    let served = known.get(name);
    if (!served) {
      const { rrsets } = servedAtOwner(store, zone, ownerKeyOf(owner, apex));
      served = rrsets.filter(({ type, rdatas }) => type <= 0xffff && rdatas.length > 0);
      known.set(name, served);
    }
    return served;
  };
  for (const record of prerequisites) {
    if (record.ttl !== 0) throw updateFailure('malformed', { reason: 'a prerequisite has a TTL' });
    requireInZone(record, apex);
    if (record.class === Class.in) noteWanted(wanted, record);
    else requireState(record, servedAt(record.owner));
    yield;
  }
  for (const { record, datas } of wanted.values()) {
    const served = servedAt(record.owner).find(({ type }) => type === record.type);
    const same =
      served?.rdatas.length === datas.size && served.rdatas.every((rdata) => datas.has(keyOf(record, rdata)));
    if (!same) throw failureOf('setMissing', record);
    yield;
  }
}

/** Throws unless the owner is in the zone. */
export function requireInZone({ owner }: ReadRecord, apex: Uint8Array): void {
  if (!isAtOrBelow(owner, apex)) throw updateFailure('outsideZone', { name: toFqdn(owner), zone: toFqdn(apex) });
}

function noteWanted(wanted: Map<string, WantedSet>, record: ReadRecord): void {
  const name = `${toHex(lowerName(record.owner))} ${record.type}`;
  let set = wanted.get(name);
  if (!set) wanted.set(name, (set = { record, datas: new Set() }));
  set.datas.add(keyOf(record, record.rdata));
}

function requireState(record: ReadRecord, served: readonly RRset[]): void {
  if (record.class !== Class.any && record.class !== Class.none) {
    throw updateFailure('malformed', { reason: `a prerequisite has the class ${record.class}` });
  }
  if (record.rdata.length > 0)
    throw updateFailure('malformed', { reason: 'a prerequisite has data and no class of data' });
  const mustExist = record.class === Class.any;
  if (record.type === Type.any) {
    if (served.length > 0 !== mustExist) throw failureOf(mustExist ? 'nameMissing' : 'nameExists', record);
  } else if (served.some(({ type }) => type === record.type) !== mustExist) {
    throw failureOf(mustExist ? 'setMissing' : 'setExists', record);
  }
}

/** TTLs are not compared (RFC 2136 §3.2.3), and names in data without regard to case. */
function keyOf({ type }: ReadRecord, rdata: Uint8Array): string {
  return toHex(typeByCode(type).canonical(rdata));
}

function failureOf(key: 'nameExists' | 'nameMissing' | 'setExists' | 'setMissing', { owner, type }: ReadRecord) {
  return updateFailure(key, { name: toFqdn(owner), type: typeMnemonic(type) });
}
