/**
 * What the replacement of a zone's records by a staged set changes, or very many edits of them. It is found out, and signed,
 * before the write that makes the change, in parts between which others get their turn.
 */

import { compareBytes } from '../../base/bytes.js';
import { finished, inSlices } from '../../base/slices.js';
import { addDifference, type Difference, ownerText, rrsOf, type ServedRR } from '../../serving/difference.js';
import { flattenedInZone } from '../../serving/flattened.js';
import { hashedOwnerKey, servedHashedOwners } from '../../serving/hashed.js';
import {
  carriedByRecords,
  recordsAtOwner,
  recordsWithRows,
  type StandingOwner,
  servedOwners,
  servedWithRows,
} from '../../serving/owner.js';
import { ownersOfSettings } from '../../serving/settings-difference.js';
import { isSignedHere } from '../../serving/signing.js';
import { type ServingZone, servingZone } from '../../serving/zone.js';
import { signatureState } from '../../serving/zone-state.js';
import type { Store } from '../../store/driver.js';
import { openSnapshot } from '../../store/handle/snapshot.js';
import { MOST_CHANGED_RRS, MOST_CHANGED_SIGNED_RRS } from '../../store/log/changes.js';
import { isLinked } from '../../store/records/indexed-settings.js';
import { openPlannedRecords, type PlannedRecords } from '../../store/records/past-records.js';
import { placeOfSet } from '../../store/records/places.js';
import type { NewRecordRow } from '../../store/records/records.js';
import { type StoredTuple, storedRowsOfOwner, storedTuple } from '../../store/records/stored-rows.js';
import type { ZoneChange, ZoneRow } from '../../store/zones/zones.js';
import type { Context } from './context.js';
import type { Participant } from './participant.js';
import type { RecordChange } from './record-edits.js';
import { MOST_COMPARED, type OwnerAfter, type Replacement, type StagedSignatures } from './touched-zone.js';
import type { MadeSignatures } from './zone-keys.js';

/** Owners of an unsigned zone of which nobody is sure; with more, it is read anew by whoever serves it. */
const MOST_UNSURE = 500;

/**
 * Finds it out for a zone that has not changed since `before` was read. `after`: its row as it will be; `reader`: a handle that
 * shows the set of records that it will have then. `outdated`: the signatures of an earlier attempt.
 */
export async function planReplacement(
  ctx: Context,
  before: ZoneRow,
  after: ZoneRow,
  outdated?: StagedSignatures,
  reader: Store = ctx.store,
): Promise<Replacement> {
  const { store, clock, settings } = ctx;
  const zone = servingZone(store, before, settings);
  const signatures = await signerOf(ctx)?.stage?.(ctx, after, outdated, reader);
  const was: ZoneAt = { store, zone };
  const willBe: ZoneAt = { store: reader, zone: stagedZone({ ...ctx, store: reader }, after, signatures?.set) };
  const flattened = await inSlices(clock, flattenedOwners([was, willBe]));
  const isUnsigned = [before, after].every((row) => signatureState(row) === 'none');
  // The write would read them all, to say exactly what changes.
  if (isUnsigned && flattened.length > MOST_UNSURE) return { before, difference: undefined, unsure: [], signatures };
  const isLarge = before.record_count > MOST_COMPARED || after.record_count > MOST_COMPARED;
  // Without signatures of its own, a signed zone is signed in the write.
  const isKnown = !isLarge && (zone.signing === undefined || signatures !== undefined);
  const difference = isKnown ? await inSlices(clock, compare(was, willBe)) : undefined;
  return { before, difference, unsure: flattened, signatures };
}

function* flattenedOwners(zones: readonly ZoneAt[]): Generator<undefined, readonly Uint8Array[]> {
  const owners: Uint8Array[] = [];
  for (const { store, zone } of zones) {
    for (const aliases of flattenedInZone(store, zone)) {
      owners.push(...aliases.map(({ ownerKey }) => ownerKey));
      yield;
    }
  }
  return owners;
}

/** The participant that adds signatures. */
function signerOf({ participants }: Context): Participant<Context> | undefined {
  return participants.find(({ stage }) => stage);
}

/** The zone with the records of a staged set, and possibly with staged signatures. `row`: as it will be. */
export function stagedZone(
  { store, settings }: Pick<Context, 'store' | 'settings'>,
  row: ZoneRow,
  signatures: number | undefined,
): ServingZone {
  const zone = servingZone(store, row, settings);
  const place = signatures === undefined ? row.seq : placeOfSet(signatures);
  return { ...zone, staged: { records: placeOfSet(row.record_set), signatures: place } };
}

/** The signatures of fewer edits are not stored aside. */
const FEW_STAGED = 1000;
/** In a zone with more than this many times as many records, reading the whole zone would cost more than it saves. */
const MOST_TIMES = 10;

/**
 * The same for edits of a zone's records, if they are so many that signing them in the write would take longer than others
 * should wait; otherwise undefined.
 */
export async function planSignedEdits(
  ctx: Context,
  before: ZoneRow,
  changes: readonly RecordChange[],
  outdated: StagedSignatures | undefined,
): Promise<Replacement | undefined> {
  const { store, clock, settings, zoneKeys } = ctx;
  const more = changes.reduce((sum, change) => sum + (change.after ? 1 : 0) - (change.before ? 1 : 0), 0);
  const after = { ...before, record_count: before.record_count + more };
  const records = Math.max(before.record_count, after.record_count);
  // Of a zone that is not compared, nothing would be logged.
  const isLogged = changes.length * RRS_OF_NAME <= MOST_CHANGED_SIGNED_RRS;
  const isWorthIt = changes.length > FEW_STAGED && records <= MOST_TIMES * changes.length;
  const isWorse = isLogged && records > MOST_COMPARED;
  if (
    !zoneKeys ||
    !isWorthIt ||
    isWorse ||
    !areAll(changes) ||
    !isSignedHere(servingZone(store, before, settings).signing?.row)
  ) {
    return undefined;
  }
  const planned = openPlannedRecords(store, before);
  try {
    await inSlices(clock, planAll(planned, changes));
    return await planReplacement(ctx, before, after, outdated, planned.store);
  } finally {
    planned.close();
  }
}

/** What threads are making for edits of a signed zone before their write. */
interface SigningPlan {
  /** Whether the replacement will be known. */
  readonly isKnown: boolean;
  readonly made: Promise<SignedPlan>;
}

export interface SignedPlan {
  readonly signatures: MadeSignatures;
  /** Undefined when the write finds out itself what changes. */
  readonly replacement: Replacement | undefined;
}

/**
 * Has the signatures made that edits of a zone will need, for which they are too few to be staged; resolves when all is read for them.
 * Undefined for a zone that needs none.
 */
export async function signPlannedEdits(
  ctx: Context,
  before: ZoneRow,
  changes: readonly RecordChange[],
  known: MadeSignatures | undefined,
): Promise<SigningPlan | undefined> {
  if (!ctx.zoneKeys || signatureState(before) === 'none') return undefined;
  const { store, close } = openSnapshot(ctx.store);
  try {
    const zone = servingZone(store, before, ctx.settings);
    const signed = await signerOf(ctx)?.sign?.(ctx, before, ownersOfChanges(store, zone, changes), store, known);
    if (!signed) return undefined;
    const isKnown = signed.isKnown && areAll(changes);
    const made = signed.made.then(({ signatures, change }): SignedPlan => {
      return { signatures, replacement: change && isKnown ? { before, ...change, ...NOTHING_STAGED } : undefined };
    });
    // A failure is thrown where it is used.
    made.catch(() => {});
    return { isKnown, made };
  } finally {
    close();
  }
}

const NOTHING_STAGED: Pick<Replacement, 'unsure' | 'signatures'> = { unsure: [], signatures: undefined };

/**
 * Whether the write makes no other edits of the zone. Linked records lead to some, possibly at the same owners: what these served before
 * must then be known as a whole, and not only what the plan changes there.
 */
function areAll(changes: readonly RecordChange[]): boolean {
  return !changes.some(isOfLinked);
}

function isOfLinked({ before, after }: RecordChange): boolean {
  return (before !== undefined && isLinked(before)) || (after !== undefined && isLinked(after));
}

/**
 * What edits of an unsigned zone change for resolvers, owner by owner; undefined for a signed one, when they are so many that it
 * would not be logged, and when they lead to others.
 */
export async function planUnsignedEdits(
  ctx: Context,
  before: ZoneRow,
  changes: readonly RecordChange[],
): Promise<Replacement | undefined> {
  const { store, clock, settings } = ctx;
  if (signatureState(before) !== 'none' || !areAll(changes)) return undefined;
  const owners = await inSlices(clock, changesByOwner(changes));
  if (owners.size > MOST_CHANGED_RRS) return undefined;
  const zone = servingZone(store, before, settings);
  const difference: Difference = { removed: [], added: [] };
  const compareAll = function* (): Generator<undefined, void> {
    for (const changed of owners.values()) {
      const { ownerKey } = changed;
      const [was, is] = servedWithRows(store, zone, ownerKey, rowsAround(store, zone, changed)).map(rrsOf);
      addDifference(difference, ownerKey, was!, is!);
      yield;
    }
  };
  await inSlices(clock, compareAll());
  return { before, difference, unsure: [], signatures: undefined };
}

/** The changes of the records of one owner. */
interface OwnerChanges {
  readonly ownerKey: Uint8Array;
  readonly gone: NewRecordRow[];
  readonly fresh: NewRecordRow[];
}

function* changesByOwner(changes: readonly RecordChange[]): Generator<undefined, ReadonlyMap<string, OwnerChanges>> {
  const owners = new Map<string, OwnerChanges>();
  const at = ({ owner_key: ownerKey }: NewRecordRow): OwnerChanges => {
    const text = ownerText(ownerKey);
    let known = owners.get(text);
    if (!known) owners.set(text, (known = { ownerKey, gone: [], fresh: [] }));
    return known;
  };
  for (const { before, after } of changes) {
    if (before) at(before).gone.push(before);
    if (after) at(after).fresh.push(after);
    yield;
  }
  return owners;
}

/** The stored records of an owner before and after the changes. */
function rowsAround(
  store: Store,
  { seq }: ServingZone,
  { ownerKey, gone, fresh }: OwnerChanges,
): (readonly StoredTuple[])[] {
  const rows = storedRowsOfOwner(store, seq, ownerKey);
  return [rows, [...withoutRows(rows, gone), ...fresh.map(storedTuple)]];
}

/** An owner has no two records of one type with the same data. */
function withoutRows(rows: readonly StoredTuple[], gone: readonly NewRecordRow[]): readonly StoredTuple[] {
  if (gone.length === 0) return rows;
  const keys = new Set(gone.map(({ type, rdata }) => `${type} ${ownerText(rdata)}`));
  return rows.filter(([, type, , , rdata]) => !keys.has(`${type} ${ownerText(rdata)}`));
}

/** The owners of changes as they are served before, and with their records afterwards, in canonical order. */
function* ownersOfChanges(
  store: Store,
  zone: ServingZone,
  changes: readonly RecordChange[],
): Generator<OwnerAfter, void> {
  const owners = [...finished(changesByOwner(changes)).values()].sort((a, b) => compareBytes(a.ownerKey, b.ownerKey));
  for (const changed of owners) {
    const { ownerKey } = changed;
    const [was, is] = recordsWithRows(store, zone, ownerKey, rowsAround(store, zone, changed));
    yield ownerAfter(store, zone, { ownerKey, records: was! }, is!);
  }
}

function ownerAfter(
  store: Store,
  zone: ServingZone,
  was: StandingOwner,
  records: StandingOwner['records'],
): OwnerAfter {
  const { ownerKey } = was;
  const before = was.records.length === 0 ? [] : rrsOf(carriedByRecords(store, zone, was));
  return { touched: { ownerKey, before, edited: true }, standing: { ownerKey, records } };
}

/** Makes the signatures that other settings of a zone will need, as far as it is known which. */
export async function signSettings(
  ctx: Context,
  before: ZoneRow,
  change: ZoneChange,
): Promise<MadeSignatures | undefined> {
  if (!ctx.zoneKeys || signatureState(before) === 'none') return undefined;
  const after: ZoneRow = { ...before, ...change };
  const { store, close } = openSnapshot(ctx.store);
  try {
    const [was, willBe] = [before, after].map((row) => servingZone(store, row, ctx.settings));
    const owners = ownersOfSettings(store, was!, willBe!, MOST_CHANGED_RRS) ?? [];
    const once = new Map(owners.map((ownerKey) => [ownerText(ownerKey), ownerKey]));
    const readAll = function* (): Generator<OwnerAfter, void> {
      for (const ownerKey of once.values()) {
        const records = recordsAtOwner(store, was!, ownerKey);
        yield ownerAfter(store, was!, { ownerKey, records }, recordsAtOwner(store, willBe!, ownerKey));
      }
    };
    const signed = await signerOf(ctx)?.sign?.(ctx, after, readAll(), store, undefined);
    return (await signed?.made)?.signatures;
  } finally {
    close();
  }
}

/** Records of a new name in a signed zone: its own, its NSEC record, and the signatures of both. */
const RRS_OF_NAME = 4;
const PLANNED_AT_ONCE = 100;

function* planAll(planned: PlannedRecords, changes: readonly RecordChange[]): Generator<undefined, void> {
  for (let at = 0; at < changes.length; at += PLANNED_AT_ONCE) {
    const part = changes.slice(at, at + PLANNED_AT_ONCE);
    planned.plan(part.map(({ before, after }) => ({ id: (before ?? after)!.id, after: after ?? null })));
    yield;
  }
}

/** Whether the write may use it. `after`: the zone's row as it will be. */
export function mayReplace(ctx: Context, after: ZoneRow, { signatures, planned }: Replacement): boolean {
  if (planned && !planned.fits(after)) return false;
  return signatures === undefined || signerOf(ctx)?.fits?.(ctx, after, signatures) === true;
}

/** A zone, and the handle through which its records are read. */
interface ZoneAt {
  readonly store: Store;
  readonly zone: ServingZone;
}

interface Served {
  readonly ownerKey: Uint8Array;
  readonly rrs: readonly ServedRR[];
}

/** Undefined when there are more differences than are logged. */
function* compare(was: ZoneAt, willBe: ZoneAt): Generator<undefined, Difference | undefined> {
  const most = willBe.zone.signing ? MOST_CHANGED_SIGNED_RRS : MOST_CHANGED_RRS;
  const difference: Difference = { removed: [], added: [] };
  for (const read of [ownersOf, hashedOwnersOf]) {
    const [old, fresh] = [read(was), read(willBe)];
    let [a, b] = [old.next(), fresh.next()];
    while (!a.done || !b.done) {
      const order = a.done ? 1 : b.done ? -1 : compareBytes(a.value.ownerKey, b.value.ownerKey);
      const { ownerKey } = (order <= 0 ? a.value : b.value) as Served;
      const [was, is] = [order <= 0 ? (a.value as Served).rrs : [], order >= 0 ? (b.value as Served).rrs : []];
      addDifference(difference, new Uint8Array(ownerKey), was, is);
      if (difference.removed.length + difference.added.length > most) return undefined;
      if (order <= 0) a = old.next();
      if (order >= 0) b = fresh.next();
      yield;
    }
  }
  return difference;
}

function* ownersOf({ store, zone }: ZoneAt): Generator<Served> {
  for (const owner of servedOwners(store, zone)) yield { ownerKey: owner.ownerKey, rrs: rrsOf(owner) };
}

function* hashedOwnersOf({ store, zone }: ZoneAt): Generator<Served> {
  for (const { hash, rrset } of servedHashedOwners(store, zone)) {
    const ownerKey = hashedOwnerKey(hash);
    yield { ownerKey, rrs: rrsOf({ ownerKey, records: [], rrsets: [rrset] }) };
  }
}
