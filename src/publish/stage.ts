/**
 * From changes of a zone to what is staged in the image: touched owners are read again and recompiled. Staging
 * twice gives the same image, so reading rows that are newer than the change at hand does no harm.
 */
import { nameOfOwnerKey, ownerKeysDownTo } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import type { ServingZone } from '../serving/zone.js';
import type { Change, ZoneSource } from './source.js';

/** Where zones are read and where they are staged. */
export interface Staging {
  readonly source: ZoneSource;
  readonly writer: ImageWriter;
}

/** A zone as the image has it. */
export interface LoadedZone {
  /** Number in the image. */
  readonly number: number;
  /** What its nodes were compiled with. */
  readonly zone: ServingZone;
}

/**
 * The owners that changes touch in a zone which was compiled as `before` and is `zone` now; undefined when the whole zone has to be
 * read. A change of settings may lie far ahead in the log: it shows at all its owners already.
 */
export function touchedOwners(
  source: ZoneSource,
  before: ServingZone,
  zone: ServingZone,
  changes: readonly Change[],
): readonly Uint8Array[] | undefined {
  const [first] = changes;
  // The owners of changes that are no longer kept are not known.
  const known = !first || first.sequence >= source.firstChange();
  if (!known || changes.some(({ complete }) => !complete)) return undefined;
  const ofSettings = source.ownersOfSettings(before, zone);
  return ofSettings && [...ofSettings, ...changes.flatMap(({ sequence }) => source.touchedOwners(sequence))];
}

/** Stages these owners of a zone as they are now, and those that come and go with them. */
export function stageOwners(staging: Staging, loaded: LoadedZone, touched: readonly Uint8Array[]): void {
  for (const ownerKey of withAncestors(staging, loaded, touched)) stageOwner(staging, loaded, ownerKey);
}

/** Owner keys without repeats, with the apex and those that come and go with what is below them. */
function withAncestors(staging: Staging, loaded: LoadedZone, touched: readonly Uint8Array[]): Iterable<Uint8Array> {
  const owners = new Map<string, Uint8Array>();
  const note = (ownerKey: Uint8Array): void => void owners.set(Buffer.from(ownerKey).toString('latin1'), ownerKey);
  // The serial moves with every change, so the apex is always among them.
  note(new Uint8Array(0));
  for (const ownerKey of touched) {
    note(ownerKey);
    for (const ancestor of affectedAncestors(staging, loaded, ownerKey)) note(ancestor);
  }
  return owners.values();
}

function stageOwner({ source, writer }: Staging, { number, zone }: LoadedZone, ownerKey: Uint8Array): void {
  const { apex } = zone.facts;
  const owner = nameOfOwnerKey(ownerKey, apex);
  const served = source.owner(zone, ownerKey);
  // A flattened name whose target has no addresses exists all the same.
  if (source.exists(zone, served)) writer.putNode(number, { owner, apex, rrsets: served.rrsets });
  else writer.removeNode(number, owner);
}

/** Names between the apex and a touched owner that exist only while something stands below them. */
function affectedAncestors(
  { source, writer }: Staging,
  { number, zone }: LoadedZone,
  ownerKey: Uint8Array,
): Uint8Array[] {
  const ancestors = ownerKeysDownTo(ownerKey).slice(0, -1);
  return ancestors.filter((ancestor) => {
    const node = writer.findNode(number, nameOfOwnerKey(ancestor, zone.facts.apex));
    return node === 0 || writer.rrsetCount(node) === 0 || source.owner(zone, ancestor).records.length === 0;
  });
}
