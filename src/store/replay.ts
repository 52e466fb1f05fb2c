/** Applies log entries that other copies wrote, in order, each once. */
import { messageOf, UserError } from '../base/errors.js';
import {
  BodyDamaged,
  EntryRefused,
  StoreBusy,
  StoreConflict,
  StoreCorrupt,
  StoreFull,
  WriteUnconfirmed,
} from './failures.js';
import { type Entry, statementsOf, type Written } from './recording.js';
import type { SqlValue } from './sql-value.js';
import { changesRows, type Statement } from './statement.js';

/** The last entry that a copy has applied; number 0 and an empty identifier before the first. */
export interface Position {
  readonly number: number;
  readonly id: string;
}

type Prepare = <Params extends readonly SqlValue[], Row>(sql: string) => Statement<Params, Row>;

/** The largest number of cached prepared statements. */
const MOST_PREPARED = 500;

/** Belongs to one handle. A database without a schema has no position. */
export class Replayer {
  private readonly prepared = new Map<string, Statement<readonly SqlValue[], unknown>>();

  constructor(private readonly prepare: Prepare) {}

  position(): Position {
    const statement = this.statement('SELECT value FROM meta WHERE name = ?');
    const find = (name: string): SqlValue | undefined =>
      (statement.get(name) as { value: SqlValue } | undefined)?.value;
    return { number: Number(find('log_number') ?? 0), id: String(find('log_id') ?? '') };
  }

  /**
   * Applies an entry and advances the position, inside a write transaction; false when this copy already has the entry.
   * Throws {@link EntryRefused} when the entry does not follow, or has another effect here than on its author.
   */
  apply(entry: Entry): boolean {
    return this.applyAll([entry]) > 0;
  }

  /** The same for several; returns how many this copy lacked. Only the position behind the last one is stored. */
  applyAll(entries: readonly Entry[]): number {
    const applied: Entry[] = [];
    for (const entry of entries) {
      if (!this.isNext(entry, applied.at(-1))) continue;
      this.runAll(entry);
      applied.push(entry);
    }
    const last = applied.at(-1);
    if (last) this.advance(last);
    return applied.length;
  }

  private runAll(entry: Entry): void {
    try {
      for (const written of statementsOf(entry.body)) this.run(written, entry);
    } catch (error) {
      throw error instanceof BodyDamaged ? refused(entry, 'damaged', error.message) : error;
    }
  }

  /**
   * False when this copy already has the entry. Throws {@link EntryRefused} when it does not follow. `here`: the position, if it
   * is not stored yet.
   */
  isNext(entry: Entry, here: Position = this.position()): boolean {
    if (entry.number < here.number || (entry.number === here.number && entry.id === here.id)) return false;
    this.requireNext(entry, here);
    return true;
  }

  /** Stores the position behind an entry, inside its write transaction. */
  advance(entry: Entry): void {
    const put = this.statement(
      'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    );
    put.run('log_number', entry.number);
    put.run('log_id', entry.id);
  }

  private requireNext(entry: Entry, here: Position): void {
    if (entry.number > here.number + 1) {
      throw refused(entry, 'gap', `this copy is at ${here.number}, and the entries between are missing`);
    }
    if (entry.number === here.number || entry.after !== here.id) {
      throw refused(entry, 'history', `this copy has another history up to ${here.number}`);
    }
    const schema = this.schema();
    if (entry.schema !== schema) {
      throw refused(entry, 'schema', `it was written for schema version ${entry.schema}, but this copy has ${schema}`);
    }
  }

  private schema(): number {
    return (this.statement('PRAGMA user_version').get() as { user_version: number }).user_version;
  }

  private run([sql, params, changes]: Written, entry: Entry): void {
    // Someone who can write to the log must not reach PRAGMA or ATTACH.
    if (!changesRows(sql)) throw refused(entry, 'damaged', `it contains a statement that does not change rows: ${sql}`);
    const changed = this.changesOf(sql, params, entry);
    if (changed !== changes) {
      throw refused(entry, 'difference', `it changed ${changes} rows on its author, but ${changed} here: ${sql}`);
    }
  }

  private changesOf(sql: string, params: readonly SqlValue[], entry: Entry): number {
    try {
      return this.statement(sql).run(...params).changes;
    } catch (error) {
      if (error instanceof StoreConflict) throw refused(entry, 'difference', error.message);
      if (isOfThisMachine(error)) throw error;
      // Such as a table that does not exist here: no later attempt has another outcome.
      throw refused(entry, 'difference', `${messageOf(error)}: ${sql}`);
    }
  }

  private statement(sql: string): Statement<readonly SqlValue[], unknown> {
    let statement = this.prepared.get(sql);
    if (!statement) {
      if (this.prepared.size >= MOST_PREPARED) this.prepared.clear();
      this.prepared.set(sql, (statement = this.prepare(sql)));
    }
    return statement;
  }
}

/** Failures that have nothing to do with what the entry contains. */
function isOfThisMachine(error: unknown): boolean {
  return [StoreBusy, StoreFull, StoreCorrupt, WriteUnconfirmed, UserError].some((type) => error instanceof type);
}

function refused({ number }: Entry, reason: EntryRefused['reason'], detail: string): EntryRefused {
  return new EntryRefused(reason, `Entry ${number} of the log was not applied: ${detail}.`, number);
}
