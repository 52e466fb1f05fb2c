/**
 * What is stored of the owners of a zone before a change, which is stored in its end. Names of a change often stand side by side, between
 * the same two stored owners: that nothing stands between those is found once for all of them.
 */
import { compareBytes, equalBytes } from '../../../base/bytes.js';
import { ownerText } from '../../../serving/difference.js';
import {
  firstSignaturesBetween,
  lastSignaturesBetween,
  type SignatureRow,
  signaturesFrom,
} from '../../../store/dnssec/signatures.js';
import type { Store } from '../../../store/driver.js';
import type { Place } from '../../../store/records/places.js';

export interface StoredOwners {
  /** The octets of an owner; each is read once. */
  at(ownerKey: Uint8Array): Uint8Array | undefined;
  /** The first owner strictly between two; undefined as `before`: up to the end of the zone. */
  firstBetween(after: Uint8Array, before: Uint8Array | undefined): SignatureRow | undefined;
  lastBetween(after: Uint8Array, before: Uint8Array): SignatureRow | undefined;
}

/** No owner stands strictly between `after` and the next one, or the end of the zone. */
interface Gap {
  readonly after: Uint8Array;
  readonly next: SignatureRow | undefined;
}

export function storedOwners(store: Store, zone: Place): StoredOwners {
  const read = new Map<string, Uint8Array | undefined>();
  const gaps = new Map<string, Gap>();
  let latest: Gap | undefined;

  const note = (text: string, gap: Gap): Gap => {
    gaps.set(text, gap);
    if (gap.next) read.set(ownerText(gap.next.owner_key), gap.next.octets);
    return (latest = gap);
  };
  /** The gap that begins at an owner, or in which it stands, if that is known. */
  const gapAt = (ownerKey: Uint8Array, text: string): Gap | undefined => {
    if (latest && compareBytes(latest.after, ownerKey) <= 0 && isBefore(ownerKey, latest.next)) return latest;
    return gaps.get(text);
  };
  return {
    at(ownerKey) {
      const text = ownerText(ownerKey);
      if (read.has(text)) return read.get(text);
      const gap = gapAt(ownerKey, text);
      // The owner at which a gap begins may be stored.
      const isNone = gap !== undefined && !equalBytes(gap.after, ownerKey);
      const found = isNone ? undefined : signaturesFrom(store, zone, ownerKey);
      const isOwn = found !== undefined && equalBytes(found.owner_key, ownerKey);
      if (!isNone && !isOwn) note(text, { after: ownerKey, next: found });
      const octets = isOwn ? found.octets : undefined;
      read.set(text, octets);
      return octets;
    },
    firstBetween(after, before) {
      const text = ownerText(after);
      const gap =
        gapAt(after, text) ?? note(text, { after, next: firstSignaturesBetween(store, zone, after, undefined) });
      const { next } = gap;
      return next && (!before || compareBytes(next.owner_key, before) < 0) ? next : undefined;
    },
    lastBetween(after, before) {
      const gap = gapAt(after, ownerText(after));
      if (gap && (!gap.next || compareBytes(before, gap.next.owner_key) <= 0)) return undefined;
      const found = lastSignaturesBetween(store, zone, after, before);
      if (found) read.set(ownerText(found.owner_key), found.octets);
      return found;
    },
  };
}

function isBefore(ownerKey: Uint8Array, next: SignatureRow | undefined): boolean {
  return !next || compareBytes(ownerKey, next.owner_key) < 0;
}
