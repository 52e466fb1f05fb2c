/**
 * Store → image, one zone at a time: rows in canonical order become nodes, names without rows above them become empty
 * non-terminals (RFC 4592 §2.2.2). The zone is built aside and becomes visible with the next commit.
 */
import { nameOfOwnerKey } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import type { TargetLookup } from '../zone/derive/flatten.js';
import { deriveRRsets, type EdgeAddresses, type RecordFacts, type ZoneFacts } from '../zone/derive/owner.js';

/** A record row as the publisher reads it, with its place in the zone. */
export interface ServedRow extends RecordFacts {
  /** Relative to the apex, see dns/name.ts. */
  readonly ownerKey: Uint8Array;
}

/** Compiles a whole zone under a new zone number, which it returns. Rows come in the order of their owner keys. */
export function loadZone(
  writer: ImageWriter,
  zone: ZoneFacts,
  rows: Iterable<ServedRow>,
  edge: EdgeAddresses,
  targetOf?: TargetLookup,
): { readonly number: number; readonly records: number } {
  const number = writer.beginZone(zone.apex);
  let records = 0;
  try {
    let previous: Uint8Array = new Uint8Array(0);
    let owned: ServedRow[] = [];
    const flush = (): void => {
      const rrsets = deriveRRsets(zone, previous.length === 0, owned, edge, targetOf);
      writer.loadNode(number, { owner: nameOfOwnerKey(previous, zone.apex), apex: zone.apex, rrsets });
    };
    for (const row of rows) {
      records++;
      if (!sameKey(row.ownerKey, previous)) {
        flush();
        loadMissingAncestors(writer, number, zone, previous, row.ownerKey);
        previous = row.ownerKey;
        owned = [];
      }
      owned.push(row);
    }
    flush();
  } catch (error) {
    writer.abandonZone(number);
    throw error;
  }
  return { number, records };
}

/** In canonical order an ancestor with rows comes before its descendants; those between the two keys without any are ENTs. */
function loadMissingAncestors(
  writer: ImageWriter,
  number: number,
  zone: ZoneFacts,
  previous: Uint8Array,
  ownerKey: Uint8Array,
): void {
  let shared = 0;
  while (shared < previous.length && shared < ownerKey.length && previous[shared] === ownerKey[shared]) shared++;
  for (let end = ownerKey.indexOf(0); end >= 0 && end < ownerKey.length - 1; end = ownerKey.indexOf(0, end + 1)) {
    if (end < shared) continue;
    const owner = nameOfOwnerKey(ownerKey.subarray(0, end + 1), zone.apex);
    writer.loadNode(number, { owner, apex: zone.apex, rrsets: [] });
  }
}

function sameKey(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}
