/** The part of a change for the NSEC3 chain: names that come, go, or have other types, and the records before them. */
import { isOwnerKeyBelow, ownerKeysDownTo } from '../../../dns/name.js';
import { addDifference, type Difference, ownerText, rrsOf, type ServedRR } from '../../../serving/difference.js';
import { hashedOwnerKey } from '../../../serving/hashed.js';
import { denialRRset } from '../../../serving/signed.js';
import type { SignedOwner, SignedSet } from '../../../serving/stored-signatures.js';
import { findHashed, type HashedRow } from '../../../store/dnssec/hashed.js';
import { APEX } from './chain.js';
import { hashedTypes, hashOf, recordOf, relinkHashed, signHashed } from './hashed-chain.js';
import type { SigningZone } from './signing-zone.js';

/** What is known of the names of a zone after the change. */
export interface NamesAfter {
  /** A touched owner; `after` undefined: it does not exist any more. */
  touched(ownerKey: Uint8Array): { readonly after: SignedOwner | undefined } | undefined;
  /** An owner that was not touched, as it is stored. */
  stored(ownerKey: Uint8Array): SignedOwner | undefined;
  /** Whether an owner takes the names below it out of the zone, if nothing above it does. */
  isBarrier(ownerKey: Uint8Array): boolean;
  /** The next member of the chain in canonical order; at the end the apex. */
  next(ownerKey: Uint8Array): Uint8Array;
}

interface Changed {
  readonly hash: Uint8Array;
  readonly before: SignedSet | undefined;
  after: SignedSet | undefined;
}

interface Wanted {
  readonly ownerKey: Uint8Array;
  readonly hash: Uint8Array;
  readonly types: readonly number[];
}

/**
 * Changes the chain for the touched owners and the names above them. `due`: hashes whose records are signed anew. Returns the
 * difference of its records.
 */
export function* changeHashed(
  signing: SigningZone,
  owners: readonly Uint8Array[],
  due: readonly Uint8Array[],
  names: NamesAfter,
): Generator<undefined, Difference> {
  const { store, row } = signing;
  const changed = new Map<string, Changed>();
  const note = (hash: Uint8Array, before: SignedSet | undefined): Changed => {
    const known = changed.get(ownerText(hash)) ?? { hash, before, after: before };
    changed.set(ownerText(hash), known);
    return known;
  };
  const wanted: Wanted[] = [];
  const gaps: Uint8Array[] = [];
  const occlusion = new Map<string, boolean>();
  for (const ownerKey of namesAround(owners)) {
    yield;
    const types = typesAfter(ownerKey, names, occlusion);
    if (types === 'same') continue;
    const hash = hashOf(signing, ownerKey);
    const stored = findHashed(store, row.zone, hash);
    if (!stored && !types) continue;
    note(hash, recordOf(stored?.octets));
    if (!stored || !types) gaps.push(hash);
    if (!types) signing.rows.removeHashed(hash);
    else {
      wanted.push({ ownerKey, hash, types });
      if (!stored) signing.rows.ensureHashed(hash, ownerKey);
    }
  }
  for (const { ownerKey, hash, types } of wanted) {
    const change = note(hash, undefined);
    change.after = signHashed(signing, { hash, owner_key: ownerKey }, types, change.before);
    yield;
  }
  const made = new Set(wanted.map(({ hash }) => ownerText(hash)));
  const isGone = ({ hash }: Changed): boolean => !made.has(ownerText(hash));
  for (const change of changed.values()) {
    if (isGone(change)) change.after = undefined;
    yield;
  }
  const beside = function* (): Generator<HashedRow | undefined> {
    for (const hash of gaps) yield signing.rows.hashedBefore(hash);
    for (const hash of due) yield findHashed(store, row.zone, hash);
  };
  for (const hashed of beside()) {
    yield;
    if (!hashed) continue;
    const stored = recordOf(hashed.octets);
    if (!stored || made.has(ownerText(hashed.hash))) continue;
    made.add(ownerText(hashed.hash));
    note(hashed.hash, stored).after = relinkHashed(signing, hashed, stored);
  }
  return yield* differenceOf(changed.values());
}

/** The owners and all names above them, each once. */
function* namesAround(owners: readonly Uint8Array[]): Generator<Uint8Array> {
  const names = new Set<string>();
  for (const owner of owners) {
    const keys = owner.length === 0 ? [APEX] : ownerKeysDownTo(owner);
    for (const key of keys) {
      const text = ownerText(key);
      if (names.has(text)) continue;
      names.add(text);
      yield new Uint8Array(key);
    }
  }
}

/** The types that a name's record lists; undefined: it has none; 'same': nothing of it changed. */
function typesAfter(
  ownerKey: Uint8Array,
  names: NamesAfter,
  occlusion: Map<string, boolean>,
): readonly number[] | undefined | 'same' {
  const touched = names.touched(ownerKey);
  const owner = touched ? touched.after : names.stored(ownerKey);
  if (owner && owner.standing !== 'occluded') return touched ? hashedTypes(ownerKey, owner) : 'same';
  if (owner || isOccluded(ownerKey, names, occlusion)) return undefined;
  // An empty non-terminal exists as long as a member is below it.
  return isOwnerKeyBelow(names.next(ownerKey), ownerKey) ? [] : undefined;
}

/** Whether a delegation or a DNAME stands above a name. `known`: by name, so that many of one branch are looked up once. */
function isOccluded(ownerKey: Uint8Array, names: NamesAfter, known: Map<string, boolean>): boolean {
  const above = [APEX, ...ownerKeysDownTo(ownerKey).slice(0, -1)];
  const texts = above.map(ownerText);
  let from = above.length - 1;
  while (from >= 0 && !known.has(texts[from]!)) from--;
  let isBelow = from >= 0 && known.get(texts[from]!)!;
  for (let i = from + 1; i < above.length; i++) {
    isBelow ||= names.isBarrier(above[i]!);
    known.set(texts[i]!, isBelow);
  }
  return isBelow;
}

function* differenceOf(changes: Iterable<Changed>): Generator<undefined, Difference> {
  const difference: Difference = { removed: [], added: [] };
  for (const { hash, before, after } of changes) {
    if (before !== after) addDifference(difference, hashedOwnerKey(hash), rrs(before), rrs(after));
    yield;
  }
  return difference;
}

function rrs(set: SignedSet | undefined): ServedRR[] {
  return set ? rrsOf({ ownerKey: APEX, records: [], rrsets: [denialRRset(set)] }) : [];
}
