/**
 * Stages changes of a zone in the image: touched owners are read again and recompiled. Staging twice gives the same
 * image, so it does no harm to read rows that are newer than the change.
 */
import { fromBase32Hex } from '../base/bytes.js';
import { finished } from '../base/slices.js';
import { nameOfOwnerKey, ownerKeysDownTo } from '../dns/name.js';
import { isSameDenial } from '../dnssec/denial.js';
import type { NodeSink } from '../image/prepared.js';
import type { ImageWriter } from '../image/writer.js';
import { ownerText } from '../serving/difference.js';
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
  finished(putOwners(staging, loaded, touched, staging.writer));
}

/** The same into a sink; yields after each owner. */
export function* putOwners(
  staging: Staging,
  loaded: LoadedZone,
  touched: readonly Uint8Array[],
  sink: NodeSink,
): Generator<undefined, void> {
  // Every change advances the serial, so the apex is always included.
  const done = new Set<string>();
  const isHashed = loaded.zone.denial?.kind === 'nsec3';
  const put = (ownerKey: Uint8Array): void => {
    const text = ownerText(ownerKey);
    if (done.has(text)) return;
    done.add(text);
    putOwner(staging, loaded, ownerKey, sink);
  };
  for (const ownerKey of [APEX, ...touched]) {
    put(ownerKey);
    for (const ancestor of affectedAncestors(staging, loaded, ownerKey)) put(ancestor);
    if (isHashed) putHashedOwner(staging, loaded, ownerKey, sink);
    yield;
  }
}

const APEX = new Uint8Array(0);

/** Puts the NSEC3 record of a touched owner; changes list it under its own owner name (RFC 5155 §3). */
function putHashedOwner({ source }: Staging, { number, zone }: LoadedZone, ownerKey: Uint8Array, sink: NodeSink): void {
  const hash = hashOfOwnerKey(ownerKey);
  if (!hash) return;
  const hashedOwner = source.hashedOwner(zone, hash);
  if (hashedOwner) sink.putHashed(number, hashedOwner);
  else sink.removeHashed(number, hash);
}

/** The hash that is the only label of an owner; undefined for other owners. */
function hashOfOwnerKey(ownerKey: Uint8Array): Uint8Array | undefined {
  if (ownerKey.length !== HASH_LABEL + 1 || ownerKey.indexOf(0) !== HASH_LABEL) return undefined;
  return fromBase32Hex(Buffer.from(ownerKey.subarray(0, HASH_LABEL)).toString('latin1'));
}

function putOwner(
  { source, balances }: Staging,
  { number, zone }: LoadedZone,
  ownerKey: Uint8Array,
  sink: NodeSink,
): void {
  const { apex } = zone.facts;
  const owner = nameOfOwnerKey(ownerKey, apex);
  const served = source.owner(zone, ownerKey);
  // A flattened name exists even when its target has no addresses.
  if (source.exists(zone, served)) {
    sink.putNode(number, nodeSource(served, apex, balances, number));
    return;
  }
  sink.removeNode(number, owner);
  balances.nodes.stageNone(number, ownerKey);
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
