/**
 * Stores the records of a zone file in a set of their own, which becomes visible when a zone gets it. A large file is
 * stored in parts, between which other writers get the lock; if the process dies, the rows are removed later.
 */

import { statSync } from 'node:fs';
import { UserError } from '../../base/errors.js';
import { pooledRandom, type Random, writeId } from '../../base/random.js';
import type { Issue } from '../../base/result.js';
import { finished, inSlices, inWrites, nextSlice } from '../../base/slices.js';
import { Type } from '../../dns/codes.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
import { factsOfSet, notableSets, type RRsetKey, setTtlOfSet, storePacked } from '../../store/records/import.js';
import type { ImportedRow, PackedRows } from '../../store/records/packed-rows.js';
import { dropRecordSet, stageRecordSet, touchRecordSet } from '../../store/records/record-sets.js';
import type { Context } from '../kernel/context.js';
import { OCTETS_OF_RECORD, reservedFailure } from '../kernel/errors.js';
import { planRemoval, planRemovalOfAbandoned } from '../kernel/unused-records.js';
import { FILE_ON_THREAD_BYTES, readImportOnThread } from './pipe.js';
import { enterImport } from './places.js';
import { type ImportBatch, type ImportEnd, type ImportOrder, readImport } from './reader.js';

export interface ImportProgress {
  readonly records: number;
  /** Octets of the source including included files. */
  readonly octets: number;
}

export interface Staged extends ImportEnd {
  /** Number of the set of records. */
  readonly set: number;
  readonly records: number;
  readonly duplicates: number;
}

type OnProgress = ((progress: ImportProgress) => void) | undefined;

/** Files of this size or larger are stored in parts; octets. */
const IN_PARTS_BYTES = 8 << 10;
/** Texts of this size or larger are read on their own thread, because others wait meanwhile; octets. */
const TEXT_ON_THREAD_BYTES = 64 << 10;

/** Whether storing the file takes so long that others would wait. */
export function isLarge({ source }: Pick<ImportOrder, 'source'>): boolean {
  return sizeOf(source) >= IN_PARTS_BYTES || generates(source);
}

/** Whether a short text may make many records. */
export function generates(source: ImportOrder['source']): boolean {
  if (!('text' in source)) return false;
  const { text } = source;
  return /\$generate/i.test(typeof text === 'string' ? text : Buffer.from(text).toString('latin1'));
}

/** The reader reports a missing file. */
function sizeOf(source: ImportOrder['source']): number {
  return 'text' in source ? source.text.length : (statSync(source.file, { throwIfNoEntry: false })?.size ?? 0);
}

/** Stores all records; inside a write. */
export function stageAtOnce(ctx: Context, order: ImportOrder, now: number, onProgress: OnProgress): Staged {
  const { store } = ctx;
  const set = stageRecordSet(store, now);
  const keep = createKeeper(ctx, set, now);
  const reading = readImport(order);
  const count = { records: 0, rows: 0 };
  let step = reading.next();
  for (; !step.done; step = reading.next()) {
    for (const pack of step.value.packs) {
      count.records += keep(pack);
      count.rows += pack.count;
    }
    tell(onProgress, step.value);
  }
  const end = step.value;
  const issues = [...end.issues];
  if (!issues.some(isError)) {
    for (const each of finished(setsToSettle(ctx, set, end))) issues.push(...settle(ctx, each));
  }
  return { ...end, issues, set, records: count.records, duplicates: count.rows - count.records };
}

/**
 * Rows that are stored together while no server is running; they take some hundredths of a second. Of what a thread reads, all that is
 * there by then comes with them.
 */
const ROWS_ALONE = 20_000;
const ROWS_OF_THREAD_ALONE = 4000;
/** Octets of them, after which no more are collected: long ones would not fit in memory. */
const OCTETS_ALONE = 8 << 20;

/** A set of records that grows in writes of its own, between which other writers get the lock. */
export interface Staging {
  /** Number of the set. */
  readonly set: number;
  /** Stores rows; resolves to how many were not duplicates. */
  store(packs: readonly PackedRows[]): Promise<number>;
  /** Settles RRsets that were stored; resolves to what is wrong with them. */
  settle(sets: readonly RRsetKey[]): Promise<readonly Issue[]>;
}

/** Begins a set, outside of a write. The caller uses it in the end, or calls {@link giveUp}. */
export async function beginStaging(ctx: Context): Promise<Staging> {
  const { store, clock } = ctx;
  const now = clock.nowUs();
  const set = await store.write(() => {
    planRemovalOfAbandoned(ctx);
    return stageRecordSet(store, now);
  });
  const keep = createKeeper(ctx, set, now);
  return {
    set,
    async store(packs) {
      if (ctx.disk?.take(rowsIn(packs) * OCTETS_OF_RECORD) === false) throw reservedFailure();
      const stored = await inWrites(ctx, { at: 0, records: 0 }, isBefore(packs), ({ at, records }) => {
        touch(ctx, set);
        return { at: at + 1, records: records + keep(packs[at]!) };
      });
      return stored.records;
    },
    async settle(sets) {
      const settled = await inWrites(
        ctx,
        { at: 0, issues: [] as readonly Issue[] },
        isBefore(sets),
        ({ at, issues }) => {
          touch(ctx, set);
          return { at: at + 1, issues: [...issues, ...settle(ctx, sets[at]!)] };
        },
      );
      return settled.issues;
    },
  };
}

/** Stores all records in parts, outside of a write. The caller uses the set, or calls {@link giveUp}. */
export async function stageInParts(
  ctx: Context,
  order: ImportOrder,
  onProgress: OnProgress,
  signal: AbortSignal | undefined,
): Promise<Staged> {
  // Other files are read from the disk as they are stored.
  const octets = 'text' in order.source ? order.source.text.length : 0;
  const leave = await enterImport(ctx, octets, signal);
  try {
    const work = (): Promise<Staged> => stageInTurn(ctx, order, onProgress, signal);
    // The write that gives the records to the zone makes them durable with it.
    return ctx.isAlone?.() ? await ctx.store.syncLater(work) : await work();
  } finally {
    leave();
  }
}

async function stageInTurn(
  ctx: Context,
  order: ImportOrder,
  onProgress: OnProgress,
  signal: AbortSignal | undefined,
): Promise<Staged> {
  const staging = await beginStaging(ctx);
  const { set } = staging;
  const isThreaded = isOnThread(order);
  const reading = isThreaded ? readImportOnThread(order, !ctx.isAlone?.()) : readImport(order);
  const rowsAlone = isThreaded ? ROWS_OF_THREAD_ALONE : ROWS_ALONE;
  try {
    const count = { records: 0, rows: 0 };
    let waiting: PackedRows[] = [];
    let rows = 0;
    let octets = 0;
    const storeWaiting = async (): Promise<void> => {
      await nextSlice();
      count.records += await staging.store(waiting);
      count.rows += rows;
      waiting = [];
      rows = 0;
      octets = 0;
    };
    let step = await reading.next();
    for (; !step.done; step = await reading.next()) {
      for (const pack of step.value.packs) {
        waiting.push(pack);
        rows += pack.count;
        octets += pack.octets.length;
      }
      if (octets < OCTETS_ALONE && rows < (ctx.isAlone?.() ? rowsAlone : 1)) continue;
      await storeWaiting();
      tell(onProgress, step.value);
      signal?.throwIfAborted();
    }
    await storeWaiting();
    const end = step.value;
    const issues = [...end.issues];
    if (!issues.some(isError)) {
      const sets = await inSlices(ctx.clock, setsToSettle(ctx, set, end));
      issues.push(...(await staging.settle(sets)));
    }
    return { ...end, issues, set, records: count.records, duplicates: count.rows - count.records };
  } catch (error) {
    await reading.return(NOTHING_READ);
    await giveUp(ctx, set);
    throw error;
  }
}

const NOTHING_READ: ImportEnd = {
  issues: [],
  soa: undefined,
  apexNameServers: 0,
  unevenSets: [],
  sets: { largest: 0, isScattered: false },
  longestRdata: 0,
};

function isOnThread({ source }: ImportOrder): boolean {
  const least = 'file' in source ? FILE_ON_THREAD_BYTES : TEXT_ON_THREAD_BYTES;
  return sizeOf(source) >= least || generates(source);
}

/** Removes a set that no zone got. */
export async function giveUp(ctx: Context, set: number): Promise<void> {
  await ctx.store.write(() => {
    if (!dropRecordSet(ctx.store, set)) planRemoval(ctx);
  });
}

/** Notes inside a write that the set is still being written. */
function touch({ store, clock }: Context, set: number): void {
  if (touchRecordSet(store, set, clock.nowUs())) return;
  throw new UserError('the import stood still for so long that its records were removed', 'Start it again.');
}

const isBefore =
  ({ length }: { readonly length: number }) =>
  ({ at }: { readonly at: number }): boolean =>
    at < length;

function rowsIn(packs: readonly PackedRows[]): number {
  return packs.reduce((sum, { count }) => sum + count, 0);
}

/** Stores rows, inside of a write, and returns how many were not duplicates. */
type Keep = (pack: PackedRows) => number;

function createKeeper({ store, clock, random }: Context, set: number, now: number): Keep {
  const pool: Random = pooledRandom(random);
  return (pack) => {
    for (const start of pack.starts) writeId(pack.octets, start, clock.nowUs(), pool);
    return storePacked(store, set, now, pack);
  };
}

function tell(onProgress: OnProgress, { parsed, octetsRead }: ImportBatch): void {
  onProgress?.({ records: parsed, octets: octetsRead });
}

export function isError({ severity }: Issue): boolean {
  return severity === 'error';
}

/** The largest size of an RRset in a message, leaving room for the question and EDNS, in octets (RFC 1035 §4.2.2). */
const MOST_RRSET_OCTETS = 65_000;
/** Octets of owner pointer, type, class, TTL and length of one record. */
export const RR_OVERHEAD = 12;

/** For people. */
function tooLarge({ name, type }: Pick<ImportedRow, 'name' | 'type'>, octets: number): string {
  return `the ${typeMnemonic(type)} records of ${name} take ${octets} octets; a message holds ${MOST_RRSET_OCTETS}`;
}

/** The RRsets to which rules about whole sets may apply. */
function* setsToSettle(
  { store }: Context,
  set: number,
  { unevenSets, sets: added, longestRdata }: ImportEnd,
): Generator<undefined, readonly RRsetKey[]> {
  const atLeast = Math.floor(MOST_RRSET_OCTETS / (longestRdata + RR_OVERHEAD));
  const sets: RRsetKey[] = unevenSets.map(([ownerKey, type]) => ({ set, ownerKey, type }));
  // What is stored has been written in the order of the file.
  if (!added.isScattered && added.largest <= atLeast) return sets;
  for (const notable of notableSets(store, set, atLeast)) {
    sets.push(...notable);
    yield;
  }
  return sets;
}

/**
 * Applies rules about whole RRsets to the stored rows: one TTL for each, the lowest (RFC 2181 §5.2; signatures have
 * that of the type they cover), and none too large to be sent.
 */
function settle({ store }: Context, set: RRsetKey): Issue[] {
  const facts = factsOfSet(store, set, RR_OVERHEAD, AUTOMATIC_TTL);
  if (facts.lowestTtl !== undefined && set.type !== Type.rrsig) setTtlOfSet(store, set, facts.lowestTtl);
  if (facts.octets <= MOST_RRSET_OCTETS) return [];
  const message = tooLarge({ name: facts.name, type: set.type }, facts.octets);
  return [{ severity: 'error', code: 'rrset-too-large', message }];
}
