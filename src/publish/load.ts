/**
 * Store → image, one zone at a time: owners in canonical order become nodes, names without records above them become empty
 * non-terminals (RFC 4592 §2.2.2). The zone is built aside, staged when it is whole, and visible with the next commit.
 */
import { nameOfOwnerKey } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import type { ServedOwner } from '../serving/owner.js';

/**
 * Compiles a whole zone under a new zone number, which it returns, and stages it in place of the one with the number `replaced`.
 * Owners come in canonical order, the apex first.
 */
export function loadZone(
  writer: ImageWriter,
  apex: Uint8Array,
  owners: Iterable<ServedOwner>,
  replaced?: number,
): { readonly number: number; readonly records: number } {
  const number = writer.beginZone(apex);
  let records = 0;
  try {
    let previous: Uint8Array = new Uint8Array(0);
    for (const { ownerKey, records: standing, rrsets } of owners) {
      records += standing.length;
      loadMissingAncestors(writer, number, apex, previous, ownerKey);
      writer.loadNode(number, { owner: nameOfOwnerKey(ownerKey, apex), apex, rrsets });
      previous = ownerKey;
    }
    writer.publishZone(number, replaced);
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
  apex: Uint8Array,
  previous: Uint8Array,
  ownerKey: Uint8Array,
): void {
  let shared = 0;
  while (shared < previous.length && shared < ownerKey.length && previous[shared] === ownerKey[shared]) shared++;
  for (let end = ownerKey.indexOf(0); end >= 0 && end < ownerKey.length - 1; end = ownerKey.indexOf(0, end + 1)) {
    if (end < shared) continue;
    const owner = nameOfOwnerKey(ownerKey.subarray(0, end + 1), apex);
    writer.loadNode(number, { owner, apex, rrsets: [] });
  }
}
