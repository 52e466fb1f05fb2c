/** Logs the writes of one handle, where the database wants that (write-log.ts). */
import type { Clock } from '../../base/clock.js';
import { startRecording } from '../recording.js';
import type { SqlValue } from '../sql-value.js';
import type { Activity, Statement } from '../statement.js';

type Prepare = <Params extends readonly SqlValue[], Row>(sql: string) => Statement<Params, Row>;

/** A write that is larger ends the log: it would be held in memory whole. */
export const MOST_LOGGED_OCTETS = 256 << 20;

export class WriteLogger {
  private statements: ReturnType<typeof prepareAll> | undefined;

  constructor(
    private readonly prepare: Prepare,
    private readonly activity: Activity,
    private readonly clock: Pick<Clock, 'nowMs'>,
  ) {}

  /** Runs a write inside its transaction. Statements that change nothing are not logged. */
  run<T>(work: () => T): T {
    const end = this.begin();
    const result = work();
    end();
    return result;
  }

  /** The same for a write that begins; returns what must be called at its end, inside its transaction. */
  begin(): () => void {
    if (!this.isWanted()) return () => {};
    const recording = startRecording();
    this.activity.recording = recording;
    return () => {
      this.activity.recording = undefined;
      const body = recording.finish();
      const { add, end, schema } = this.statements!;
      // The write may be the one that ends the log.
      if (!body || !this.isWanted()) return;
      if (body.length > MOST_LOGGED_OCTETS) end.run();
      else add.run(this.clock.nowMs(), schema.get()!.user_version, body);
    };
  }

  private isWanted(): boolean {
    // A database that is older than the tables gets them by a migration.
    this.statements ??= this.hasTables() ? prepareAll(this.prepare) : undefined;
    return this.statements?.series.get() !== undefined;
  }

  private hasTables(): boolean {
    return this.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'write_log_series'").get() !== undefined;
  }
}

function prepareAll(prepare: Prepare) {
  return {
    series: prepare('SELECT 1 FROM write_log_series'),
    schema: prepare<[], { readonly user_version: number }>('PRAGMA user_version'),
    add: prepare<[number, number, Uint8Array], unknown>(
      'INSERT INTO write_log (written_at, schema, body) VALUES (?, ?, ?)',
    ),
    end: prepare('DELETE FROM write_log_series'),
  };
}
