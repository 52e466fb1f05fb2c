/** What a write in progress remembers of a touched zone: mainly what was served before. */

import { isDeepStrictEqual } from 'node:util';
import { equalBytes } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
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
import { carriedByRecords, recordsAtOwner, type StandingOwner } from '../../serving/owner.js';
import { ownersOfSettings } from '../../serving/settings-difference.js';
import { type ServingSettings, type ServingZone, servingZone, signedZone, unsignedZone } from '../../serving/zone.js';
import { signatureState, zoneState } from '../../serving/zone-state.js';
import type { Store } from '../../store/driver.js';
import { type ChangedRR, type ChangeKind, MOST_CHANGED_RRS, packRRs, type SoaRR } from '../../store/log/changes.js';
import type { EditedRecord } from '../../store/log/edits.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { PackedDifference } from './packed-difference.js';
import type { RecordChange } from './record-edits.js';

export interface TouchedOwner {
  readonly ownerKey: Uint8Array;
  /** What the owner served before. */
  readonly before: readonly ServedRR[];
  /** Whether records of the owner were edited; if not, only settings or targets of flattened names affect it. */
  edited: boolean;
}

/** A touched owner with its records after the edits. */
export interface OwnerAfter {
  readonly touched: TouchedOwner;
  readonly standing: StandingOwner;
}

export interface TouchedZone {
  /** The row before the first edit; for a new zone, as it was added. */
  readonly before: ZoneRow;
  /** The zone as it was served before. */
  readonly serving: ServingZone;
  /** The change, if it affects more than single records. */
  kind: ChangeKind | undefined;
  /** Number of records added, less those removed. */
  records: number;
  /** By {@link ownerText}. */
  readonly owners: Map<string, TouchedOwner>;
  /** Everything that was served before, for a zone whose records are replaced. */
  copy: ServedCopy | undefined;
  /** What was found out before the records were replaced, instead of a copy. */
  replacement: Replacement | undefined;
  /** Whether the owners, or the copy, contain everything whose answers change. */
  complete: boolean;
  readonly edited: EditedRecord[];
  /** The edited records that are linked to others (store/records/indexed-settings.ts). */
  readonly linked: RecordChange[];
  /** Names whose delegation may have changed, without final dots; undefined: any below the apex. */
  delegated: Set<string> | undefined;
  /** Number of the edit in the journal that has everything edited, if it was stored before (staged-edits.ts). */
  stagedEdit: number | undefined;
  /** Whether `edited` is sufficient to undo everything. */
  undoable: boolean;
  /** A proxied record was written. */
  proxied: boolean;
  /** Whether nothing was edited: the answers of flattened names changed with their targets. */
  derived: boolean;
  /** Owners of load balancers whose answers change, whether their records do or not. */
  readonly balanced: Uint8Array[];
  /** What a signed zone needs beyond signatures of what was touched. */
  readonly signing: SigningNote;
}

/** Signatures that were made, and stored in a set of their own, before the zone gets the records for which they are. */
export interface StagedSignatures {
  /** Number of the set. */
  readonly set: number;
  /** What they were made from, besides the records. */
  readonly basis: unknown;
}

/** Signatures that were made for edits before their write, which only stores them. */
export interface PlannedSignatures {
  /** Whether they fit the zone as it will be, inside the write that makes the edits. */
  fits(row: ZoneRow): boolean;
  /** Stores them, inside that write, step by step. */
  storeIn(store: Store): Generator<undefined, void>;
  /** How many they are, and the largest TTL of what they sign. */
  readonly done: { readonly signatures: number; readonly largestTtl: number };
}

/** What the replacement of all records of a zone, or of very many, changes, found out before the write. */
export interface Replacement {
  /** The zone as it was then. */
  readonly before: ZoneRow;
  /** What changes for resolvers, apart from the SOA; undefined when that is very much, or not known any more. */
  readonly difference: Difference | undefined;
  /** The same, packed for the log. */
  readonly packed?: PackedDifference | undefined;
  /**
   * Owners of which it is not sure: those that serve what was found for the target of a CNAME, before or afterwards, which may
   * change at any time, and those that the write itself changes.
   */
  readonly unsure: readonly Uint8Array[];
  /** The signatures of the new records. */
  readonly signatures: StagedSignatures | undefined;
  /** The same of edits that are too few for that. */
  readonly planned?: PlannedSignatures | undefined;
}

export interface SigningNote {
  /** Keys, or how the zone is signed, may have changed. */
  keys: boolean;
  /** Everything that does not fit is signed anew. */
  whole: boolean;
  /** All is signed already, and is served signed from now on. */
  prepared: boolean;
  /** Only signatures of exactly the signing keys are kept. */
  exact: boolean;
  /** Hashes whose NSEC3 records are signed anew. */
  hashes: readonly Uint8Array[];
}

/** Zones with more records are not compared as a whole. */
export const MOST_COMPARED = 100_000;

/** `earlier`: the same zone as other edits touched it that will end together with these. */
export function touchZone(
  store: Store,
  before: ZoneRow,
  settings: ServingSettings,
  earlier?: TouchedZone,
): TouchedZone {
  return {
    before,
    serving: earlier?.serving ?? servingZone(store, before, settings),
    kind: undefined,
    records: 0,
    owners: earlier?.owners ?? new Map(),
    copy: undefined,
    replacement: undefined,
    complete: true,
    edited: [],
    linked: [],
    delegated: new Set(),
    stagedEdit: undefined,
    undoable: true,
    proxied: false,
    derived: true,
    balanced: [],
    signing: { keys: false, whole: false, prepared: false, exact: false, hashes: [] },
  };
}

/** A zone that was served under other, or unknown, settings of the installation; its row stays unchanged. */
export function touchInstallation(
  store: Store,
  row: ZoneRow,
  before: ServingSettings | undefined,
  after: ServingSettings,
): TouchedZone {
  const touched = touchZone(store, row, before ?? after);
  if (!before) touched.complete = false;
  else noteSettings(store, touched, row, after);
  // Possibly only the SOA differs.
  if (!equalBytes(soaOf(touched.serving).rdata, soaOf(servingZone(store, row, after)).rdata)) touched.kind = 'settings';
  return touched;
}

/** Changed delegations that are told apart. */
const MOST_DELEGATED = 20;

/** Remembers that an edit of a record may change a delegation. */
export function noteDelegated(touched: TouchedZone, { before, after }: RecordChange): void {
  for (const row of [before, after]) if (row?.type === Type.ns) touched.delegated?.add(row.name.replace(/\.$/, ''));
  if (touched.delegated && touched.delegated.size > MOST_DELEGATED) touched.delegated = undefined;
}

/** The zone as it is served after the edits. `row`: its row then. */
export function servedAfter(
  store: Store,
  { before, serving, signing }: TouchedZone,
  row: ZoneRow,
  settings: ServingSettings,
): ServingZone {
  if (signing.keys || signatureState(row) !== signatureState(before)) return servingZone(store, row, settings);
  return signedZone(unsignedZone(row, settings), serving.signing);
}

/** Remembers what an owner serves, before the first edit that affects it. */
export function noteOwner(store: Store, { owners, serving }: TouchedZone, ownerKey: Uint8Array): TouchedOwner {
  const key = ownerText(ownerKey);
  const known = owners.get(key);
  if (known) return known;
  const standing = { ownerKey, records: recordsAtOwner(store, serving, ownerKey) };
  const owner = { ownerKey, before: rrsOf(carriedByRecords(store, serving, standing)), edited: false };
  owners.set(key, owner);
  return owner;
}

/**
 * The same without an edit. If there are too many such owners, they are not remembered and the change is not complete.
 */
export function noteUnedited(store: Store, touched: TouchedZone, ownerKey: Uint8Array): void {
  if (touched.owners.size < MOST_CHANGED_RRS) noteOwner(store, touched, ownerKey);
  else touched.complete = false;
}

/** Remembers that followers must read the owner of a load balancer again, and what is served there. */
export function noteBalancer(store: Store, touched: TouchedZone, ownerKey: Uint8Array): void {
  if (touched.balanced.length < MOST_CHANGED_RRS) touched.balanced.push(ownerKey);
  else touched.complete = false;
  noteUnedited(store, touched, ownerKey);
}

export interface SigningScope {
  /** Owner keys. */
  readonly owners?: readonly Uint8Array[];
  /** Hashes of the NSEC3 chain. */
  readonly hashes?: readonly Uint8Array[];
  /** All owners, now; `prepared`: all are signed already. */
  readonly whole?: boolean;
  readonly prepared?: boolean;
  /** Whether only signatures of exactly the signing keys are kept. */
  readonly exact?: boolean;
}

/** Remembers what will be signed anew. */
export function noteSigning(
  store: Store,
  touched: TouchedZone,
  { owners = [], hashes = [], whole = false, prepared = false, exact = false }: SigningScope,
): void {
  for (const ownerKey of owners) noteUnedited(store, touched, ownerKey);
  if (whole || prepared) touched.complete = false;
  const { signing } = touched;
  signing.keys = true;
  signing.whole ||= whole;
  signing.prepared ||= prepared;
  signing.exact ||= exact;
  signing.hashes = [...signing.hashes, ...hashes];
}

/** Remembers what is served at the owners that another row of the zone will affect. */
export function noteSettings(store: Store, touched: TouchedZone, row: ZoneRow, settings: ServingSettings): void {
  const owners = ownersOfSettings(store, touched.serving, servingZone(store, row, settings), MOST_CHANGED_RRS);
  if (owners) for (const ownerKey of owners) noteUnedited(store, touched, ownerKey);
  else touched.complete = false;
}

/** Remembers everything that the zone serves, before its records are replaced without the draft. */
export function noteWhole(store: Store, touched: TouchedZone): void {
  if (touched.owners.size > 0 || touched.before.record_count > MOST_COMPARED) touched.complete = false;
  else touched.copy = copyServed(store, touched.serving);
}

/**
 * Remembers what was found out before the write, and what is served at the owners of which it is not sure. What the service adds to
 * owners, as load balancers and challenges, changes only in writes that change the zone's row, after which nothing is sure. Call it
 * before the first edit.
 */
export function noteReplacement(store: Store, touched: TouchedZone, replacement: Replacement): void {
  const isSame = isDeepStrictEqual(touched.before, replacement.before);
  touched.replacement = isSame ? replacement : { ...replacement, difference: undefined };
  touched.signing.keys ||= replacement.signatures !== undefined;
  for (const key of [new Uint8Array(0), ...replacement.unsure]) noteUnedited(store, touched, key);
}

/** Reads the records of every touched owner after the edits, once for all callers. */
export function ownersAfter(store: Store, { owners }: TouchedZone, after: ServingZone): OwnerAfter[] {
  return [...owners.values()].map((touched) => {
    const { ownerKey } = touched;
    return { touched, standing: { ownerKey, records: recordsAtOwner(store, after, ownerKey) } };
  });
}

/** A difference that is packed for the log already, but for some of its records. */
export interface FoundDifference extends Difference {
  readonly packed?: { readonly removed: readonly Uint8Array[]; readonly added: readonly Uint8Array[] } | undefined;
}

/**
 * The records removed from and added to what resolvers see, without the SOA; undefined when unknown. `owners`: the
 * touched ones; `signed`: their difference if they are signed.
 */
export function differenceOf(
  store: Store,
  touched: TouchedZone,
  after: ServingZone,
  row: ZoneRow,
  owners: readonly OwnerAfter[],
  signed: Difference | undefined,
): FoundDifference | undefined {
  const { before, kind, copy, replacement } = touched;
  // If the zone starts or stops being served, its records do not show the whole difference.
  if (!touched.complete || kind === 'zone-added' || zoneState(before) !== zoneState(row)) return undefined;
  if (copy && row.record_count > MOST_COMPARED) return undefined;
  if (copy) return diffCopies(copy, copyServed(store, after));
  const ofOwners = signed ?? diffOwners(store, after, owners);
  return replacement ? withReplaced(touched, ofOwners, replacement) : ofOwners;
}

/** The touched owners differ as they were found now, all others as they were found before the write. */
function withReplaced(
  { owners }: TouchedZone,
  now: Difference,
  { difference, packed }: Replacement,
): FoundDifference | undefined {
  if (!difference) return undefined;
  if (packed && [...owners.keys()].every((text) => packed.except.has(text))) return withPacked(packed, now);
  // Those of one owner stand together, and there are very many.
  let known: { readonly key: Uint8Array; readonly isOther: boolean } | undefined;
  const isOther = ({ owner_key: key }: ChangedRR): boolean => {
    if (known?.key !== key) known = { key, isOther: !owners.has(ownerText(key)) };
    return known.isOther;
  };
  return {
    removed: [...difference.removed.filter(isOther), ...now.removed],
    added: [...difference.added.filter(isOther), ...now.added],
  };
}

function withPacked({ others, removed, added }: PackedDifference, now: Difference): FoundDifference {
  return {
    removed: [...others.removed, ...now.removed],
    added: [...others.added, ...now.added],
    packed: { removed: [...removed, packRRs(now.removed)], added: [...added, packRRs(now.added)] },
  };
}

function diffOwners(store: Store, zone: ServingZone, owners: readonly OwnerAfter[]): Difference {
  const difference: Difference = { removed: [], added: [] };
  for (const { touched, standing } of owners) {
    const after = rrsOf(carriedByRecords(store, zone, standing));
    addDifference(difference, standing.ownerKey, touched.before, after);
  }
  return difference;
}

interface SoaDifference {
  readonly soaFrom?: SoaRR;
  readonly soaTo?: SoaRR;
}

/** Both SOAs if they differ, apart from a zone that is new. */
export function soaDifference(before: ServingZone, after: ServingZone, serial: number): SoaDifference {
  const [soaFrom, soaTo] = [soaOf(before), soaOf(after, serial)];
  return soaFrom.ttl === soaTo.ttl && equalBytes(soaFrom.rdata, soaTo.rdata) ? {} : { soaFrom, soaTo };
}
