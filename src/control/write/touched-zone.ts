/** What a write in progress remembers of a zone it touches: above all what was served before. */
import { equalBytes } from '../../base/bytes.js';
import {
  addDifference,
  copyServed,
  type Difference,
  diffCopies,
  ownerText,
  rrsOf,
  type ServedCopy,
  type ServedRR,
  soaOf,
} from '../../serving/difference.js';
import { servedAtOwner } from '../../serving/owner.js';
import { ownersOfSettings } from '../../serving/settings-difference.js';
import { type ServingSettings, type ServingZone, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { type ChangeKind, MOST_CHANGED_RRS } from '../../store/log/changes.js';
import type { EditedRecord } from '../../store/log/edits.js';
import type { ZoneRow } from '../../store/zones/zones.js';

export interface TouchedOwner {
  readonly ownerKey: Uint8Array;
  /** What was served there before. */
  readonly before: readonly ServedRR[];
  /** Records were edited there; otherwise only settings, or targets of flattened names, that show there. */
  edited: boolean;
}

export interface TouchedZone {
  /** The row before the first edit; of a zone that is new, as it was added. */
  readonly before: ZoneRow;
  /** The same as it was served. */
  readonly serving: ServingZone;
  /** What concerns more than single records. */
  kind: ChangeKind | undefined;
  /** Records more. */
  records: number;
  /** By {@link ownerText}. */
  readonly owners: Map<string, TouchedOwner>;
  /** All that was served before, of a zone whose records are replaced. */
  copy: ServedCopy | undefined;
  /** Whether the owners, or the copy, hold all whose answers change. */
  complete: boolean;
  readonly edited: EditedRecord[];
  /** Whether `edited` undoes everything. */
  undoable: boolean;
  /** Nothing was edited: the answers of flattened names changed with their targets. */
  derived: boolean;
}

/** Zones of more records than this are not compared as a whole. */
export const MOST_COMPARED = 100_000;

export function touchZone(before: ZoneRow, settings: ServingSettings): TouchedZone {
  return {
    before,
    serving: servingZone(before, settings),
    kind: undefined,
    records: 0,
    owners: new Map(),
    copy: undefined,
    complete: true,
    edited: [],
    undoable: true,
    derived: true,
  };
}

/** A zone that was served under other settings of the installation, or under unknown ones; its row stays as it is. */
export function touchInstallation(
  store: Store,
  row: ZoneRow,
  before: ServingSettings | undefined,
  after: ServingSettings,
): TouchedZone {
  const touched = touchZone(row, before ?? after);
  if (!before) touched.complete = false;
  else noteSettings(store, touched, row, after);
  // The SOA alone may differ.
  if (!equalBytes(soaOf(touched.serving).rdata, soaOf(servingZone(row, after)).rdata)) touched.kind = 'settings';
  return touched;
}

/** Remembers what an owner serves, before the first edit that shows there. */
export function noteOwner(store: Store, { owners, serving }: TouchedZone, ownerKey: Uint8Array): TouchedOwner {
  const key = ownerText(ownerKey);
  const known = owners.get(key);
  if (known) return known;
  const owner = { ownerKey, before: rrsOf(servedAtOwner(store, serving, ownerKey)), edited: false };
  owners.set(key, owner);
  return owner;
}

/** The same where nobody edits; too many such owners are not remembered, and the change is not complete. */
export function noteUnedited(store: Store, touched: TouchedZone, ownerKey: Uint8Array): void {
  if (touched.owners.size < MOST_CHANGED_RRS) noteOwner(store, touched, ownerKey);
  else touched.complete = false;
}

/** Remembers what is served where another row of the zone will show. */
export function noteSettings(store: Store, touched: TouchedZone, row: ZoneRow, settings: ServingSettings): void {
  const owners = ownersOfSettings(store, touched.serving, servingZone(row, settings), MOST_CHANGED_RRS);
  if (owners) for (const ownerKey of owners) noteUnedited(store, touched, ownerKey);
  else touched.complete = false;
}

/** Remembers all that the zone serves, before its records are replaced past the draft. */
export function noteWhole(store: Store, touched: TouchedZone): void {
  touched.undoable = false;
  if (touched.owners.size > 0 || touched.before.record_count > MOST_COMPARED) touched.complete = false;
  else touched.copy = copyServed(store, touched.serving);
}

/** What resolvers see less and more, the SOA left out; undefined when that is not known. */
export function differenceOf(
  store: Store,
  touched: TouchedZone,
  after: ServingZone,
  row: ZoneRow,
): Difference | undefined {
  const { before, kind, copy, owners } = touched;
  // Whose zone was not served, or is not any more, sees more change than its records tell.
  if (!touched.complete || kind === 'zone-added' || before.served !== row.served) return undefined;
  if (copy && row.record_count > MOST_COMPARED) return undefined;
  return copy ? diffCopies(copy, copyServed(store, after)) : diffOwners(store, after, owners.values());
}

function diffOwners(store: Store, zone: ServingZone, owners: Iterable<TouchedOwner>): Difference {
  const difference: Difference = { removed: [], added: [] };
  for (const { ownerKey, before } of owners) {
    addDifference(difference, ownerKey, before, rrsOf(servedAtOwner(store, zone, ownerKey)));
  }
  return difference;
}
