/** What resolvers are given for an owner, record by record, and how two such states differ: what the change log holds. */
import { compareBytes, equalBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import { UNKNOWN_DATA } from '../store/log/changes.js';
import { soaRdata } from '../zone/derive/soa.js';
import type { ServedOwner } from './owner.js';
import type { ServingZone } from './zone.js';

/** One served record, its owner understood. */
export interface ServedRR {
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
  /** Sent with it: it is stale (RFC 8767). */
  readonly extendedError?: number;
}

/** The records of an owner. The SOA is left out: its serial moves with every change, see {@link soaOf}. */
export function rrsOf({ rrsets }: ServedOwner): ServedRR[] {
  return rrsets
    .filter(({ type }) => type !== Type.soa && type <= 0xffff)
    .flatMap(({ type, ttl, rdatas, extendedError }) =>
      rdatas.length === 0
        ? [{ type, ttl: 0, rdata: UNKNOWN_DATA }]
        : rdatas.map((rdata) =>
            extendedError === undefined ? { type, ttl, rdata } : { type, ttl, rdata, extendedError },
          ),
    );
}

/** The SOA a zone is served with, under its own serial or another one. */
export function soaOf({ facts: { soa } }: ServingZone, serial: number = soa.serial): ServedRR {
  return { type: Type.soa, ttl: soa.ttl, rdata: soaRdata({ ...soa, serial }) };
}

/** What has to be taken away from `before` and added to it so that it becomes `after`. */
export function diffServed(
  before: readonly ServedRR[],
  after: readonly ServedRR[],
): { readonly removed: readonly ServedRR[]; readonly added: readonly ServedRR[] } {
  const old = [...before].sort(compareServed);
  const fresh = [...after].sort(compareServed);
  const removed: ServedRR[] = [];
  const added: ServedRR[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    const order = i === old.length ? 1 : j === fresh.length ? -1 : compareServed(old[i]!, fresh[j]!);
    if (order <= 0) {
      if (order < 0) removed.push(old[i]!);
      i++;
    }
    if (order >= 0) {
      if (order > 0) added.push(fresh[j]!);
      j++;
    }
  }
  return { removed, added };
}

function compareServed(a: ServedRR, b: ServedRR): number {
  if (a.type !== b.type) return a.type - b.type;
  if (!equalBytes(a.rdata, b.rdata)) return compareBytes(a.rdata, b.rdata);
  if (a.ttl !== b.ttl) return a.ttl - b.ttl;
  return (a.extendedError ?? 0) - (b.extendedError ?? 0);
}
