/**
 * Loads a zone from the store into the image. Owners in canonical order become nodes; names without records above them
 * become empty non-terminals (RFC 4592 §2.2.2). The zone is built invisibly and becomes visible when it is published
 * and committed.
 */
import type { IsOver } from '../base/slices.js';
import { nameOfOwnerKey } from '../dns/name.js';
import type { Denial, HashedOwner } from '../dnssec/denial.js';
import { prepareNodes } from '../image/prepared.js';
import type { ImageWriter } from '../image/writer.js';
import { NO_HEALTH } from '../serving/health-source.js';
import type { ServedOwner } from '../serving/owner.js';
import { type Balances, createBalances, nodeSource } from './balances.js';
import { type LoadedZone, putOwners, type Staging } from './stage.js';

/** A zone that is being built, or {@link OwnersLoad}. */
export interface ZoneLoad {
  /** Zone number in the image. */
  readonly number: number;
  /** Records read so far. */
  records(): number;
  /** Compiles owners until this many more records are read, or a time is over; false when no owners are left. */
  advance(records: number, isOver?: IsOver): boolean;
  /** Discards what is built. */
  abandon(): void;
}

/** Many owners of a zone that is served. None of them is in the image before all are staged. */
export interface OwnersLoad extends ZoneLoad {
  /** Adds owners, as the zone is now. */
  add(zone: LoadedZone, owners: readonly Uint8Array[]): void;
  stage(): void;
}

const NEVER: IsOver = () => false;

/** What a signed zone needs beyond its owners. */
export interface SignedLoad {
  readonly denial: Denial;
  /** Owners of NSEC3 records; none with NSEC. */
  readonly hashedOwners: Iterable<HashedOwner>;
}

/** Begins a zone. Owners come in canonical order, the apex first. `signed`: absent for an unsigned zone. */
export function beginLoad(
  writer: ImageWriter,
  apex: Uint8Array,
  owners: Iterable<ServedOwner>,
  signed?: SignedLoad,
  balances: Balances = createBalances(NO_HEALTH, writer),
): ZoneLoad {
  const number = writer.beginZone(apex, signed?.denial);
  const iterator = owners[Symbol.iterator]();
  const hashedOwners = signed?.hashedOwners[Symbol.iterator]();
  let previous: Uint8Array = new Uint8Array(0);
  let records = 0;
  return {
    number,
    records: () => records,
    advance(more, isOver = NEVER) {
      for (const end = records + more; records < end && !isOver(); ) {
        const next = iterator.next();
        if (next.done) {
          const hashed = hashedOwners?.next();
          if (!hashed || hashed.done) return false;
          records++;
          writer.loadHashed(number, hashed.value);
          continue;
        }
        const { ownerKey, records: standing } = next.value;
        records += standing.length;
        loadMissingAncestors(writer, number, apex, previous, ownerKey);
        writer.loadNode(number, nodeSource(next.value, apex, balances, number));
        previous = ownerKey;
      }
      return true;
    },
    abandon() {
      writer.abandonZone(number);
      balances.nodes.drop(number);
    },
  };
}

export function beginOwners(staging: Staging, zone: LoadedZone, owners: readonly Uint8Array[]): OwnersLoad {
  const nodes = prepareNodes(staging.writer);
  let steps = putOwners(staging, zone, owners, nodes);
  let records = 0;
  return {
    number: zone.number,
    records: () => records,
    advance(more, isOver = NEVER) {
      for (const end = records + more; records < end && !isOver(); records++) if (steps.next().done) return false;
      return true;
    },
    // Only when all before are compiled.
    add: (now, others) => void (steps = putOwners(staging, now, others, nodes)),
    stage: () => nodes.stage(),
    abandon: () => staging.balances.nodes.discard(zone.number),
  };
}

/**
 * In canonical order an ancestor with rows comes before its descendants, so the ancestors without rows between the two
 * keys are empty non-terminals.
 */
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
