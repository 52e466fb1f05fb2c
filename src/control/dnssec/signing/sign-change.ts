/**
 * Signs a change of a few owners: the RRsets that it touched, and the NSEC records of these owners and of those before them. A
 * delegation or a DNAME that comes or goes takes the names below it out of the zone, or brings them back.
 */

import { compareBytes, equalBytes } from '../../../base/bytes.js';
import { finished } from '../../../base/slices.js';
import { signedRRsets } from '../../../serving/balanced.js';
import { addDifference, type Difference, ownerText, rrsOf, type ServedRR } from '../../../serving/difference.js';
import { recordsAtOwner, type ServedOwner, unsignedByRecords } from '../../../serving/owner.js';
import { denialRRset, withSignatures, type ZoneSigning } from '../../../serving/signed.js';
import { readSignedOwner, type SignedOwner, type Standing } from '../../../serving/stored-signatures.js';
import type { ServingZone } from '../../../serving/zone.js';
import { signatureState } from '../../../serving/zone-state.js';
import { signedOwnersBelow } from '../../../store/dnssec/signatures.js';
import type { ChangedRR } from '../../../store/log/changes.js';
import type { ZoneRow } from '../../../store/zones/zones.js';
import type { OwnerAfter } from '../../kernel/touched-zone.js';
import {
  APEX,
  type Barrier,
  barrierAbove,
  barrierOf,
  isBarrier,
  maintainsNsec,
  memberBetween,
  relinkNsec,
  signNsec,
  storedBarrier,
} from './chain.js';
import { changeHashed } from './change-hashed.js';
import { maintainsHashed } from './hashed-chain.js';
import { signSets, storeSignedOwner, withSet } from './sign-owner.js';
import type { SigningZone } from './signing-zone.js';
import { type StoredOwners, storedOwners } from './stored-owners.js';

/** An owner whose data or standing may have changed. */
interface Touched {
  readonly key: Uint8Array;
  /** What was served before; undefined for an owner that is here only because of one above it. */
  readonly before: readonly ServedRR[] | undefined;
  /** Its data afterwards, unsigned. */
  readonly served: ServedOwner;
  readonly exists: boolean;
  readonly barrier: Barrier;
  readonly octets: Uint8Array | undefined;
  readonly stored: SignedOwner | undefined;
  /** Set once all barriers are known; undefined when it does not exist. */
  after: SignedOwner | undefined;
}

/** Of an owner before and after. */
export interface SignedChange {
  /** Whether records of others than the touched owners changed, those of the chain. */
  readonly changesOthers: boolean;
  readonly difference: Difference;
  /** The apex afterwards if it is among the changed ones. Its SOA is signed last. */
  readonly apex: SignedOwner | undefined;
  /** Stores all owners but the apex. Must be called when their signatures have been made. */
  store(): void;
}

interface Change {
  readonly signing: SigningZone;
  readonly stored: StoredOwners;
  /** In canonical order. */
  readonly owners: Touched[];
  readonly byText: Map<string, Touched>;
  /** Owners beside them whose NSEC record changed. */
  readonly relinked: { readonly key: Uint8Array; readonly stored: SignedOwner; readonly after: SignedOwner }[];
}

export interface ChangeOptions {
  /** Owners that are signed anew although nothing of theirs was touched. */
  readonly also?: readonly Uint8Array[];
  /** Hashes whose NSEC3 records are signed anew. */
  readonly hashes?: readonly Uint8Array[];
  /**
   * The last owner that is signed so far, null for none, in a zone that is being signed without its chain; later ones are left
   * out.
   */
  readonly upTo?: Uint8Array | null;
}

/** Up to where a zone is signed that is not served with signatures yet. */
export function signedUpTo(zone: ZoneRow, { row }: SigningZone): Pick<ChangeOptions, 'upTo'> {
  return signatureState(zone) !== 'served' && row.phase === 'data' ? { upTo: row.cursor } : {};
}

/** `owners`: the touched ones. `before`: the zone as it was served. */
export function signChange(
  signing: SigningZone,
  owners: readonly OwnerAfter[],
  before: ServingZone,
  options: ChangeOptions,
): SignedChange {
  return finished(signInSteps(signing, owners, before, options));
}

/** The same, step by step. */
export function* signInSteps(
  signing: SigningZone,
  owners: Iterable<OwnerAfter>,
  before: ServingZone,
  { also = [], hashes = [], upTo }: ChangeOptions,
): Generator<undefined, SignedChange> {
  const stored = storedOwners(signing.store, signing.row.zone);
  const change: Change = { signing, stored, owners: [], byText: new Map(), relinked: [] };
  for (const { touched, standing } of owners) {
    yield;
    if (upTo === null || (upTo && compareBytes(standing.ownerKey, upTo) > 0)) continue;
    touch(change, standing.ownerKey, unsignedByRecords(signing.store, signing.zone, standing), touched.before);
  }
  yield* touchAll(change, also);
  for (const owner of [...change.owners]) {
    if (changesBelow(owner)) yield* touchAll(change, signedOwnersBelow(signing.store, signing.row.zone, owner.key));
  }
  change.owners.sort((a, b) => compareBytes(a.key, b.key));
  for (const owner of change.owners) {
    owner.after = signOwner(change, owner);
    yield;
  }
  if (upTo === undefined && maintainsNsec(signing)) yield* linkChain(change);
  const denials = upTo === undefined && maintainsHashed(signing) ? yield* changeHashedNames(change, hashes) : undefined;
  const apex = change.byText.get('')?.after ?? change.relinked.find(({ key }) => key.length === 0)?.after;
  const difference = yield* differenceOf(change, before.signing);
  // Only what is served differs: both chains may be kept while one takes the place of the other.
  if (denials && before.denial?.kind === 'nsec3') {
    yield* append(difference.removed, denials.removed);
    yield* append(difference.added, denials.added);
  }
  const changesOthers = change.relinked.length > 0 || (denials !== undefined && !isEmpty(denials));
  return { difference, apex, changesOthers, store: () => storeAll(change) };
}

function* append(rrs: ChangedRR[], more: readonly ChangedRR[]): Generator<undefined, void> {
  for (const rr of more) {
    rrs.push(rr);
    yield;
  }
}

function isEmpty({ removed, added }: Difference): boolean {
  return removed.length + added.length === 0;
}

function touch(
  { stored, owners, byText }: Change,
  key: Uint8Array,
  served: ServedOwner,
  before: readonly ServedRR[] | undefined,
): void {
  const octets = stored.at(key);
  const owner: Touched = {
    key,
    before,
    served,
    exists: served.records.length > 0 || key.length === 0,
    barrier: barrierOf(key, served.rrsets),
    octets,
    stored: octets && readSignedOwner(octets),
    after: undefined,
  };
  owners.push(owner);
  byText.set(ownerText(key), owner);
}

/** Whether names below an owner may have begun or ceased to be occluded by it. */
function changesBelow({ octets, barrier }: Touched): boolean {
  return isBarrier(storedBarrier(octets)) !== isBarrier(barrier);
}

function* touchAll(change: Change, keys: readonly Uint8Array[]): Generator<undefined, void> {
  const { store, zone } = change.signing;
  for (const key of keys) {
    if (change.byText.has(ownerText(key))) continue;
    const records = recordsAtOwner(store, zone, key);
    touch(change, key, unsignedByRecords(store, zone, { ownerKey: key, records }), undefined);
    yield;
  }
}

/** The barrier above an owner after the change. */
function barrierOver(change: Change, ownerKey: Uint8Array): Uint8Array | undefined {
  return barrierAbove(ownerKey, (ancestor) => barrierAt(change, ancestor));
}

function barrierAt({ stored, byText }: Change, ownerKey: Uint8Array): Barrier | undefined {
  const touched = byText.get(ownerText(ownerKey));
  if (touched) return touched.exists ? touched.barrier : undefined;
  return storedBarrier(stored.at(ownerKey));
}

function signOwner(change: Change, { key, served, exists, barrier, stored }: Touched): SignedOwner | undefined {
  if (!exists) return undefined;
  const standing: Standing = barrierOver(change, key) ? 'occluded' : barrier.isCut ? 'cut' : 'authority';
  const sets = signSets(change.signing, key, signedRRsets(served), standing, stored);
  return { standing, redirects: barrier.redirects, sets };
}

function isMember(owner: SignedOwner | undefined): boolean {
  return owner !== undefined && owner.standing !== 'occluded';
}

/** Makes the NSEC records of all touched members, and of those before owners that joined or left the chain. */
function* linkChain(change: Change): Generator<undefined, void> {
  const { owners } = change;
  // The last member before the owner at hand, if it is not a touched one; those have their records made anyway.
  let untouched: Uint8Array | undefined;
  for (const [i, owner] of owners.entries()) {
    yield;
    const isIn = isMember(owner.after);
    const changed = isIn !== isMember(owner.stored);
    if (!isIn || changed) {
      const found = memberBefore(change, i);
      if (found) untouched = change.byText.has(ownerText(found)) ? undefined : found;
      if (changed && untouched) relink(change, untouched, i);
    }
    if (!isIn) continue;
    link(change, owner, i);
    untouched = undefined;
  }
}

function link(change: Change, owner: Touched, index: number): void {
  const after = owner.after!;
  const stored = owner.stored?.sets.find(({ denial }) => denial);
  const nsec = signNsec(change.signing, owner.key, after, memberAfter(change, owner.key, index + 1), stored);
  owner.after = { ...after, sets: withSet(after.sets, nsec) };
}

/** The last member of the chain between the touched owner before this one and this one; undefined without any. */
function memberBefore(change: Change, index: number): Uint8Array | undefined {
  const { stored, owners } = change;
  const { key } = owners[index]!;
  if (key.length === 0) return undefined;
  const found = stored.lastBetween(owners[index - 1]?.key ?? APEX, key);
  if (!found) return index === 0 ? APEX : undefined;
  // It is not touched, so its standing is what is stored; what is occluded stands behind the barrier above it.
  return barrierOver(change, found.owner_key) ?? found.owner_key;
}

/** The next member of the chain; `from`: index of the first touched owner behind it. At the end the apex. */
function memberAfter(change: Change, ownerKey: Uint8Array, from: number): Uint8Array {
  const { stored, owners } = change;
  let after = ownerKey;
  for (let i = from; ; i++) {
    const touched = owners[i];
    const found = memberBetween(stored, after, touched?.key, (key) => barrierOver(change, key));
    if (found) return found;
    if (!touched) return APEX;
    if (isMember(touched.after)) return touched.key;
    after = touched.key;
  }
}

function changeHashedNames(change: Change, hashes: readonly Uint8Array[]): Generator<undefined, Difference> {
  const { signing, owners, byText } = change;
  const keys = owners.map(({ key }) => key);
  return changeHashed(signing, keys, hashes, {
    touched: (key) => byText.get(ownerText(key)),
    stored(key) {
      const octets = change.stored.at(key);
      return octets && readSignedOwner(octets);
    },
    isBarrier: (key) => isBarrier(barrierAt(change, key)),
    next: (key) => memberAfter(change, key, firstBehind(owners, key)),
  });
}

/** Index of the first touched owner behind a key. */
function firstBehind(owners: readonly Touched[], key: Uint8Array): number {
  let [low, high] = [0, owners.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBytes(owners[middle]!.key, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lets the NSEC record of an untouched owner point to the next member. */
function relink(change: Change, key: Uint8Array, from: number): void {
  const { signing, relinked } = change;
  const last = relinked.at(-1);
  if (last && equalBytes(last.key, key)) return;
  const stored = readSignedOwner(change.stored.at(key)!);
  const next = memberAfter(change, key, from);
  const known = stored.sets.find(({ denial }) => denial);
  const nsec = known ? relinkNsec(signing, key, known, next) : signNsec(signing, key, stored, next, undefined);
  relinked.push({ key, stored, after: { ...stored, sets: withSet(stored.sets, nsec) } });
}

/** In canonical order: those that are linked anew stand beside touched ones, mostly in the same page of the database. */
function storeAll({ signing, owners, relinked }: Change): void {
  const changed = [...owners, ...relinked].sort((a, b) => compareBytes(a.key, b.key));
  for (const { key, after, stored } of changed) {
    if (key.length === 0) continue;
    if (after) storeSignedOwner(signing, key, after, stored);
    else if (stored) signing.rows.remove(key);
  }
}

/** `before`: how the zone was signed; undefined when it was not. */
function* differenceOf(
  { signing, owners, relinked }: Change,
  before: ZoneSigning | undefined,
): Generator<undefined, Difference> {
  const difference: Difference = { removed: [], added: [] };
  for (const owner of owners) {
    const { key, served, stored, after } = owner;
    const attach = (how: ZoneSigning | undefined, signed: SignedOwner | undefined): ServedRR[] =>
      rrsOf({ ...served, rrsets: how ? withSignatures(how, served.rrsets, signed) : served.rrsets });
    addDifference(difference, key, owner.before ?? attach(before, stored), attach(signing.zone.signing, after));
    yield;
  }
  if (signing.zone.denial?.kind === 'nsec3') return difference;
  for (const { key, stored, after } of relinked) {
    addDifference(difference, key, denialOf(stored), denialOf(after));
    yield;
  }
  return difference;
}

function denialOf({ standing, sets }: SignedOwner): ServedRR[] {
  const rrsets = sets.filter(({ denial }) => denial).map(denialRRset);
  return standing === 'occluded' ? [] : rrsOf({ ownerKey: APEX, records: [], rrsets });
}
