/**
 * The index of a whole zone's flattened names, after its records were replaced or a setting has changed that decides which they are.
 * For a zone with many aliases it follows the write, in parts. Until then targets that are new are not asked for, and an entry that
 * is left over only has its owner looked at in vain.
 */
import { inWrites } from '../../base/slices.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { flattenedFrom, flattenedInZone } from '../../serving/flattened.js';
import { type ServingZone, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { hasMoreFlattened, putFlattenedPart } from '../../store/flatten/owners.js';
import { aliasOwners } from '../../store/records/stored-rows.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { ContextBase } from '../kernel/context.js';

/** Its subject is the store number of a zone. */
export const FLATTENING_INDEX_JOB = 'flattening_index';

/** Settings of a zone that decide which CNAMEs are flattened; other settings do not change the index. */
export const DECIDING = [
  'paused',
  'zone_mode',
  'account_dns_only',
  'flatten_all_cnames',
] as const satisfies readonly (keyof ZoneRow)[];

/** A zone with no more aliases is indexed in the write itself. */
const FEW_ALIASES = 200;
const FIRST_KEY = new Uint8Array(0);

/** Updates the index for a whole zone, or has that done soon. Inside a write. */
export function indexFlattened({ store, clock }: Pick<ContextBase, 'store' | 'clock'>, zone: ServingZone): void {
  const { seq } = zone;
  if (aliasOwners(store, seq, FEW_ALIASES + 1).length > FEW_ALIASES || hasMoreFlattened(store, seq, FEW_ALIASES)) {
    const nowMs = clock.nowMs();
    schedule(store, { kind: FLATTENING_INDEX_JOB, subject: String(seq), runAtMs: nowMs }, nowMs);
    return;
  }
  putFlattenedPart(store, seq, [...flattenedInZone(store, zone)].flat(), FIRST_KEY, undefined);
}

interface Place {
  /** The owner with which the next part begins; undefined: all is done. */
  readonly from: Uint8Array | undefined;
  /** What the parts before were made from. */
  readonly basis: string;
}

/** When the zone changes meanwhile, it begins again; edits of single owners update the index themselves. */
export function flatteningIndexJob({ settings }: Pick<ContextBase, 'settings'>): JobKind {
  return {
    async handler({ store, clock, signal, requireLease }, subject) {
      const begin: Place = { from: FIRST_KEY, basis: '' };
      const hasMore = ({ from }: Place): boolean => from !== undefined && !signal.aborted;
      const end = await inWrites({ store, clock }, begin, hasMore, ({ from, basis }) => {
        requireLease();
        const row = findZone(store, Number(subject));
        if (!row) return { from: undefined, basis };
        const now = JSON.stringify([row.record_set, ...DECIDING.map((column) => row[column])]);
        const first = now === basis ? from! : FIRST_KEY;
        return { from: indexPart(store, servingZone(store, row, settings), first), basis: now };
      });
      return end.from === undefined ? { done: true } : { againAtMs: clock.nowMs() };
    },
  };
}

/** Indexes the part that begins with an owner, and returns where the next one begins. */
function indexPart(store: Store, zone: ServingZone, from: Uint8Array): Uint8Array | undefined {
  const { aliases, next } = flattenedFrom(store, zone, from);
  putFlattenedPart(store, zone.seq, aliases, from, next);
  return next;
}
