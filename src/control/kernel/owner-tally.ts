/**
 * Numbers of the records at an owner, kept up to date by a write in progress. So the rules about neighbours cost the same
 * for each record of a batch, however many stand at its name.
 */
import { ownerText } from '../../serving/difference.js';
import type { Store } from '../../store/driver.js';
import { type NewRecordRow, tallyOfOwner } from '../../store/records/records.js';

/** The records of one type at an owner. */
export interface TypeTally {
  readonly records: number;
  /** Octets of their rdata. */
  readonly octets: number;
}

/** By type; only types that have records. */
export type OwnerTally = ReadonlyMap<number, TypeTally>;

type Row = Pick<NewRecordRow, 'zone' | 'owner_key' | 'type' | 'rdata'>;

export interface OwnerTallies {
  at(zone: number, ownerKey: Uint8Array): OwnerTally;
  /** Notes that a row was written (1) or removed (-1). */
  note(row: Row, by: 1 | -1): void;
  /** Notes that a row took the place of another. */
  replace(before: Row, after: Row): void;
}

export function createOwnerTallies(store: Store): OwnerTallies {
  const known = new Map<string, Map<number, TypeTally>>();
  const keyOf = (zone: number, ownerKey: Uint8Array): string => `${zone} ${ownerText(ownerKey)}`;
  const note = (row: Row, by: 1 | -1): void => {
    const tally = known.get(keyOf(row.zone, row.owner_key));
    if (tally) addTo(tally, row, by);
  };
  return {
    at(zone, ownerKey) {
      const key = keyOf(zone, ownerKey);
      let tally = known.get(key);
      if (!tally) known.set(key, (tally = new Map(tallyOfOwner(store, zone, ownerKey))));
      return tally;
    },
    note,
    replace(before, after) {
      note(before, -1);
      note(after, 1);
    },
  };
}

/** The tally without one of its rows. */
export function tallyWithout(tally: OwnerTally, row: Row): OwnerTally {
  const rest = new Map(tally);
  addTo(rest, row, -1);
  return rest;
}

function addTo(tally: Map<number, TypeTally>, { type, rdata }: Row, by: 1 | -1): void {
  const { records, octets } = tally.get(type) ?? { records: 0, octets: 0 };
  if (records + by === 0) tally.delete(type);
  else tally.set(type, { records: records + by, octets: octets + by * rdata.length });
}
