/**
 * Stages changes of a zone in the image: touched owners are read again and recompiled. Staging twice gives the same
 * image, so it does no harm to read rows that are newer than the change.
 */
import { fromBase32Hex } from '../base/bytes.js';
import { nameOfOwnerKey, ownerKeysDownTo } from '../dns/name.js';
import { isSameDenial } from '../dnssec/denial.js';
import type { ImageWriter } from '../image/writer.js';
import type { ServingZone } from '../serving/zone.js';
import { type Balances, nodeSource } from './balances.js';
import type { Change, ZoneSource } from './source.js';

/** Octets of an NSEC3 hash in Base 32. */
const HASH_LABEL = 32;

/** The source that zones are read from, and the image that they are staged in. */
export interface Staging {
  readonly source: ZoneSource;
  readonly writer: ImageWriter;
  readonly balances: Balances;
}

/** A zone as the image has it. */
export interface LoadedZone {
  /** Zone number in the image. */
  readonly number: number;
  /** The zone with which its nodes were compiled. */
  readonly zone: ServingZone;
}

/**
 * The owners that changes touch in a zone that was compiled as `before` and is now `zone`; undefined when the whole
 * zone has to be read. A settings change later in the log already affects all its owners.
 */
export function touchedOwners(
  source: ZoneSource,
  before: ServingZone,
  zone: ServingZone,
  changes: readonly Change[],
): readonly Uint8Array[] | undefined {
  const [first] = changes;
  // The owners of pruned changes are unknown.
  const known = !first || first.sequence >= source.firstChange();
  if (!known || changes.some(({ complete }) => !complete)) return undefined;
  // Every name is proved in another way.
  if (!isSameDenial(before.denial, zone.denial) || before.expired !== zone.expired) return undefined;
  const ofSettings = source.ownersOfSettings(before, zone);
  return ofSettings && [...ofSettings, ...changes.flatMap(({ sequence }) => source.touchedOwners(sequence))];
}

/** Stages the current state of these owners, and of the ancestors that appear or disappear with them. */
export function stageOwners(staging: Staging, loaded: LoadedZone, touched: readonly Uint8Array[]): void {
  for (const ownerKey of withAncestors(staging, loaded, touched)) stageOwner(staging, loaded, ownerKey);
  if (loaded.zone.denial?.kind === 'nsec3') stageHashedOwners(staging, loaded, touched);
}

/** Stages the NSEC3 records among the touched owners, which stand in changes with their owner names (RFC 5155 §3). */
function stageHashedOwners(
  { source, writer }: Staging,
  { number, zone }: LoadedZone,
  touched: readonly Uint8Array[],
): void {
  for (const ownerKey of touched) {
    const hash = hashOfOwnerKey(ownerKey);
    if (!hash) continue;
    const hashedOwner = source.hashedOwner(zone, hash);
    if (hashedOwner) writer.putHashed(number, hashedOwner);
    else writer.removeHashed(number, hash);
  }
}

/** The hash that is the only label of an owner; undefined for other owners. */
function hashOfOwnerKey(ownerKey: Uint8Array): Uint8Array | undefined {
  if (ownerKey.length !== HASH_LABEL + 1 || ownerKey.indexOf(0) !== HASH_LABEL) return undefined;
  return fromBase32Hex(Buffer.from(ownerKey.subarray(0, HASH_LABEL)).toString('latin1'));
}

/** Owner keys without repeats, plus the apex and the ancestors whose existence depends on names below them. */
function withAncestors(staging: Staging, loaded: LoadedZone, touched: readonly Uint8Array[]): Iterable<Uint8Array> {
  const owners = new Map<string, Uint8Array>();
  const note = (ownerKey: Uint8Array): void => void owners.set(Buffer.from(ownerKey).toString('latin1'), ownerKey);
  // Every change advances the serial, so the apex is always included.
  note(new Uint8Array(0));
  for (const ownerKey of touched) {
    note(ownerKey);
    for (const ancestor of affectedAncestors(staging, loaded, ownerKey)) note(ancestor);
  }
  return owners.values();
}

function stageOwner({ source, writer, balances }: Staging, { number, zone }: LoadedZone, ownerKey: Uint8Array): void {
  const { apex } = zone.facts;
  const owner = nameOfOwnerKey(ownerKey, apex);
  const served = source.owner(zone, ownerKey);
  // A flattened name exists even when its target has no addresses.
  if (source.exists(zone, served)) writer.putNode(number, nodeSource(served, apex, balances));
  else writer.removeNode(number, owner);
}

/** Names between the apex and a touched owner that exist only because of names below them. */
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
