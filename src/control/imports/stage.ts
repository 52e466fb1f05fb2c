/**
 * Stores the records of a zone file in a set of their own, which becomes visible when a zone gets it. A large file is
 * stored in parts, between which other writers get the lock; if the process dies, the rows are removed later.
 */
import { statSync } from 'node:fs';
import { sleep, steadyMs } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { makeId, pooledRandom, type Random } from '../../base/random.js';
import type { Issue } from '../../base/result.js';
import { Type } from '../../dns/codes.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
import {
  factsOfSet,
  type ImportedRow,
  notableSets,
  type RRsetKey,
  recordImporter,
  setTtlOfSet,
} from '../../store/records/import.js';
import { dropRecordSet, stageRecordSet, touchRecordSet } from '../../store/records/record-sets.js';
import type { Context } from '../kernel/context.js';
import { planRemoval, planRemovalOfAbandoned } from '../kernel/unused-records.js';
import { readImportOnThread } from './pipe.js';
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

/** Milliseconds of a write, and between two. */
const WRITE_MS = 20;
const PAUSE_MS = 4;
/** RRsets whose rules are applied in one write. */
const SETS_AT_ONCE = 200;

/** Files of this size or larger are stored in parts; octets. */
const IN_PARTS_BYTES = 64 << 10;
/**
 * Files of this size or larger are read on their own thread, in octets; starting one takes as long as reading this
 * much.
 */
const ON_THREAD_BYTES = 2 << 20;

/** Whether storing the file takes so long that others would wait. */
export function isLarge({ source }: Pick<ImportOrder, 'source'>): boolean {
  return sizeOf(source) >= IN_PARTS_BYTES;
}

/** The reader reports a missing file. */
function sizeOf(source: ImportOrder['source']): number {
  return 'text' in source ? source.text.length : (statSync(source.file, { throwIfNoEntry: false })?.size ?? 0);
}

/** Stores all records; inside a write. */
export function stageAtOnce(ctx: Context, order: ImportOrder, now: number, onProgress: OnProgress): Staged {
  const { store } = ctx;
  const set = stageRecordSet(store, now);
  const inserter = createInserter(ctx, set, now);
  const reading = readImport(order);
  const count = { records: 0, rows: 0 };
  let step = reading.next();
  for (; !step.done; step = reading.next()) {
    const { rows } = step.value;
    for (const row of rows) if (inserter(row)) count.records++;
    count.rows += rows.length;
    tell(onProgress, step.value);
  }
  const end = step.value;
  const issues = [...end.issues];
  if (!issues.some(isError)) issues.push(...settle(ctx, setsToSettle(ctx, set, end)));
  return { ...end, issues, set, records: count.records, duplicates: count.rows - count.records };
}

/** A set of records that grows in writes of its own, between which other writers get the lock. */
export interface Staging {
  /** Number of the set. */
  readonly set: number;
  /** Stores rows; resolves to how many were no duplicates. */
  store(rows: readonly ImportedRow[]): Promise<number>;
  /** Runs another write on the set. */
  write<T>(work: () => T): Promise<T>;
}

/** Begins a set, outside of a write. The caller uses it in the end, or calls {@link giveUp}. */
export async function beginStaging(ctx: Context): Promise<Staging> {
  const { store, clock } = ctx;
  const now = clock.nowUs();
  const set = await store.write(() => {
    planRemovalOfAbandoned(ctx);
    return stageRecordSet(store, now);
  });
  const inserter = createInserter(ctx, set, now);
  return {
    set,
    async store(rows) {
      let records = 0;
      for (let at = 0; at < rows.length; ) {
        const part = await writePart(ctx, set, () => insertForAWhile(ctx, inserter, rows, at));
        records += part.records;
        at = part.end;
      }
      return records;
    },
    write: (work) => writePart(ctx, set, work),
  };
}

/** Stores all records in parts, outside of a write. The caller uses the set, or calls {@link giveUp}. */
export async function stageInParts(
  ctx: Context,
  order: ImportOrder,
  onProgress: OnProgress,
  signal: AbortSignal | undefined,
): Promise<Staged> {
  const staging = await beginStaging(ctx);
  const { set } = staging;
  const reading = isOnThread(order) ? readImportOnThread(order) : readImport(order);
  try {
    const count = { records: 0, rows: 0 };
    let step = reading.next();
    for (; !step.done; step = reading.next()) {
      const { rows } = step.value;
      count.records += await staging.store(rows);
      count.rows += rows.length;
      tell(onProgress, step.value);
      signal?.throwIfAborted();
    }
    const end = step.value;
    const issues = [...end.issues];
    const sets = issues.some(isError) ? [] : setsToSettle(ctx, set, end);
    for (let at = 0; at < sets.length; at += SETS_AT_ONCE) {
      const some = sets.slice(at, at + SETS_AT_ONCE);
      issues.push(...(await staging.write(() => settle(ctx, some))));
    }
    return { ...end, issues, set, records: count.records, duplicates: count.rows - count.records };
  } catch (error) {
    reading.return(NOTHING_READ);
    await giveUp(ctx, set);
    throw error;
  }
}

const NOTHING_READ: ImportEnd = { issues: [], soa: undefined, apexNameServers: 0, unevenSets: [], longestRdata: 0 };

function isOnThread({ source }: ImportOrder): boolean {
  return 'file' in source && sizeOf(source) >= ON_THREAD_BYTES;
}

/** Removes a set that no zone got. */
export async function giveUp(ctx: Context, set: number): Promise<void> {
  await ctx.store.write(() => {
    if (!dropRecordSet(ctx.store, set)) planRemoval(ctx);
  });
}

async function writePart<T>(ctx: Context, set: number, work: () => T): Promise<T> {
  const value = await ctx.store.write(() => {
    if (touchRecordSet(ctx.store, set, ctx.clock.nowUs())) return work();
    throw new UserError('the import stood still for so long that its records were removed', 'Start it again.');
  });
  await sleep(PAUSE_MS);
  return value;
}

type Inserter = (row: ImportedRow) => boolean;

function createInserter({ store, clock, random }: Context, set: number, now: number): Inserter {
  const insert = recordImporter(store, set, now);
  const pool: Random = pooledRandom(random);
  return (row) => insert(makeId(clock.nowUs(), pool), row);
}

/** Inserts rows from an index on; returns how many were no duplicates, and where it stopped. */
function insertForAWhile(
  { clock }: Context,
  insert: Inserter,
  rows: readonly ImportedRow[],
  from: number,
): { readonly records: number; readonly end: number } {
  const endMs = steadyMs(clock) + WRITE_MS;
  let records = 0;
  let at = from;
  while (at < rows.length) {
    if (insert(rows[at++]!)) records++;
    // The clock costs as much as a row.
    if (at % 64 === 0 && steadyMs(clock) > endMs) break;
  }
  return { records, end: at };
}

function tell(onProgress: OnProgress, { parsed, octetsRead }: ImportBatch): void {
  onProgress?.({ records: parsed, octets: octetsRead });
}

export function isError({ severity }: Issue): boolean {
  return severity === 'error';
}

/** The largest size of an RRset in a message, leaving room for the question and EDNS, in octets (RFC 1035 §4.2.2). */
const MOST_RRSET_OCTETS = 65_000;
const RR_OVERHEAD = 12;

/** The RRsets to which rules about whole sets may apply. */
function setsToSettle({ store }: Context, set: number, { unevenSets, longestRdata }: ImportEnd): readonly RRsetKey[] {
  const atLeast = Math.floor(MOST_RRSET_OCTETS / (longestRdata + RR_OVERHEAD));
  return [...unevenSets.map(([ownerKey, type]) => ({ set, ownerKey, type })), ...notableSets(store, set, atLeast)];
}

/**
 * Applies rules about whole RRsets to the stored rows: one TTL for each, the lowest (RFC 2181 §5.2; signatures have
 * that of the type they cover), and none too large to be sent.
 */
function settle({ store }: Context, sets: readonly RRsetKey[]): Issue[] {
  const issues: Issue[] = [];
  for (const set of sets) {
    const facts = factsOfSet(store, set, RR_OVERHEAD, AUTOMATIC_TTL);
    if (facts.lowestTtl !== undefined && set.type !== Type.rrsig) setTtlOfSet(store, set, facts.lowestTtl);
    if (facts.octets > MOST_RRSET_OCTETS) {
      const what = `the ${typeMnemonic(set.type)} records of ${facts.name}`;
      const message = `${what} take ${facts.octets} octets; a message holds ${MOST_RRSET_OCTETS}`;
      issues.push({ severity: 'error', code: 'rrset-too-large', message });
    }
  }
  return issues;
}
