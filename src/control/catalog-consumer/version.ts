/** Reads a version of a catalog of another server, and what it leaves to do, while others get their turn. */
import { collect, inSlices } from '../../base/slices.js';
import type { Store } from '../../store/driver.js';
import { rowsOfSet } from '../../store/records/compare.js';
import { type ConsumedCatalogRow, consumedMembers } from '../../store/secondary/consumed-catalogs.js';
import { findIncoming, primariesOfZone } from '../../store/secondary/incoming.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import { compareMembers, removalsToConfirm, type Step, stepsOf } from './compare.js';
import { readCatalog } from './content.js';

export interface CatalogVersion {
  /** Row of the catalog zone when it was read. */
  readonly zone: ZoneRow;
  /** Of the primary. */
  readonly serial: number;
  /** Why the version is not followed (RFC 9432 §5.1); undefined: it is. */
  readonly fault: string | undefined;
  /** Zones that would go, but wait for a person. */
  readonly held: number;
  /** The serial for which a person had let them go. */
  readonly confirmed: number | null;
  /** Store numbers. */
  readonly primaries: readonly number[];
  readonly steps: readonly Step[];
}

/** Undefined when no version came yet. */
export async function readVersion(ctx: Context, catalog: ConsumedCatalogRow): Promise<CatalogVersion | undefined> {
  const { store, clock } = ctx;
  const zone = findZone(store, catalog.zone)!;
  const serial = findIncoming(store, zone.seq)?.serial ?? null;
  if (serial === null) return undefined;
  const primaries = primariesOfZone(store, zone.seq).map(({ seq }) => seq);
  const read = { zone, serial, primaries, confirmed: catalog.confirmed };
  const content = await inSlices(clock, readCatalog(zone.apex, rowsOfSet(store, zone.record_set)));
  if ('fault' in content) return { ...read, fault: content.fault, held: catalog.held, steps: [] };
  const known = await inSlices(clock, collect(consumedMembers(store, catalog.seq)));
  const change = await inSlices(clock, compareMembers(known, content.members));
  const held = catalog.confirmed === serial ? 0 : removalsToConfirm(change, known);
  const others = await inSlices(
    clock,
    zonesOfOthers(
      store,
      known.map(({ zone: seq }) => seq),
      primaries,
    ),
  );
  return { ...read, fault: undefined, held, steps: [...stepsOf(change, held > 0), ...others] };
}

/** Members come from where their catalog comes from. */
function* zonesOfOthers(
  store: Store,
  zones: readonly (number | null)[],
  primaries: readonly number[],
): Generator<undefined, Step[]> {
  const steps: Step[] = [];
  for (const zone of zones) {
    yield;
    if (zone !== null && !hasPrimaries(store, zone, primaries)) steps.push({ kind: 'primaries', zone });
  }
  return steps;
}

export function hasPrimaries(store: Store, zone: number, primaries: readonly number[]): boolean {
  const own = primariesOfZone(store, zone).map(({ seq }) => seq);
  return own.length === primaries.length && own.every((seq, i) => seq === primaries[i]);
}
