/**
 * From changes of a zone to what is staged in the image: touched owners are read again and recompiled, anything larger is loaded
 * aside. Staging twice gives the same image, so reading rows that are newer than the change at hand does no harm.
 */
import { nameOfOwnerKey, ownerKeysDownTo } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import type { ServingZone } from '../serving/zone.js';
import { loadZone } from './load.js';
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

export interface StagedOutcome {
  /** The zone once what is staged has been committed; undefined when it is not to be served. */
  readonly loaded: LoadedZone | undefined;
  /** Records read, when the whole zone was loaded. */
  readonly records: number;
}

/** Stages what changes make of a zone, of which `before` is in the image now. `seq`: store number. */
export function stageChanges(
  { source, writer }: Staging,
  seq: number,
  before: LoadedZone | undefined,
  changes: readonly Change[],
): StagedOutcome {
  const zone = source.zone(seq);
  if (!zone) {
    if (before) writer.removeZone(before.number);
    return { loaded: undefined, records: 0 };
  }
  // The settings are those of now: a change of them may lie far ahead in the log, and shows at all its owners already.
  const ofSettings = before && source.ownersOfSettings(before.zone, zone);
  if (!before || !ofSettings || changes.some(({ complete }) => !complete)) {
    writer.reserve(source.recordCount(zone));
    const { number, records } = loadZone(writer, zone.facts.apex, source.owners(zone), before?.number);
    return { loaded: { number, zone }, records };
  }
  const loaded = { number: before.number, zone };
  const listed = changes.flatMap(({ sequence }) => source.touchedOwners(sequence));
  for (const ownerKey of withAncestors({ source, writer }, loaded, [...ofSettings, ...listed])) {
    stageOwner({ source, writer }, loaded, ownerKey);
  }
  return { loaded, records: 0 };
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
