/** The query log: one JSON object a line, appended to a file. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { messageOf, UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { SampledQuery } from './query.js';

export interface QueryLog {
  /** Lines wait until {@link QueryLog.flush}. */
  add(query: SampledQuery): void;
  flush(): void;
  /** Opens the file again, after another program has moved it away. */
  reopen(): void;
  /** Lines that could not be written. */
  dropped(): number;
  close(): void;
}

/** Throws a UserError when the file cannot be written. */
export function openQueryLog(path: string, log: Logger): QueryLog {
  let descriptor: number | undefined;
  let lines: string[] = [];
  let dropped = 0;
  const open = (): void => {
    descriptor = openSync(path, 'a', 0o640);
  };
  const fail = (error: unknown): void => {
    log.error({ path, reason: messageOf(error) }, 'the query log cannot be written');
  };
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  try {
    open();
  } catch (error) {
    throw new UserError(`${path} cannot be written: ${messageOf(error)}`, 'Choose another file for --query-log.');
  }
  const queryLog: QueryLog = {
    add: (query) => void lines.push(JSON.stringify(lineOf(query))),
    flush() {
      if (lines.length === 0) return;
      const waiting = lines;
      lines = [];
      try {
        if (descriptor === undefined) open();
        writeFileSync(descriptor!, `${waiting.join('\n')}\n`);
      } catch (error) {
        if (dropped === 0) fail(error);
        dropped += waiting.length;
      }
    },
    reopen() {
      queryLog.flush();
      close();
      try {
        open();
      } catch (error) {
        fail(error);
      }
    },
    dropped: () => dropped,
    close() {
      queryLog.flush();
      close();
    },
  };
  return queryLog;
}

function lineOf({ atMs, tookUs, ...query }: SampledQuery) {
  return { time: new Date(atMs).toISOString(), ...query, micros: tookUs };
}
