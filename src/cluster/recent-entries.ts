/**
 * The last entries that this node has applied, in files of its data directory: what a failover of PostgreSQL has lost can be
 * appended again from them. One line an entry, so that a line that was cut by a crash spoils no other.
 */
import { appendFileSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Entry } from '../store/recording.js';
import type { Position } from '../store/replay.js';
import { digestOf } from './digest.js';

export interface RecentEntries {
  /** Never throws: a full disk only costs what could have been recovered. */
  add(entries: readonly Entry[]): void;
  /** The entries up to a position, in order, as far back as they are there, but none of those up to number `behind`. */
  upTo(position: Position, behind: number): readonly Entry[];
}

/** In the data directory; when the first one is full, it takes the place of the second. */
const FILES = ['cluster-entries', 'cluster-entries.old'] as const;
const MOST_OCTETS = 16 << 20;

/** A log that is lost is not looked for in entries that large: they are imports, which can be repeated. */
const MOST_BODY = 4 << 20;

export function recentEntries(dataDir: string, logger: Logger): RecentEntries {
  const [current, old] = FILES.map((file) => join(dataDir, file)) as [string, string];
  let octets: number | undefined;
  let isTold = false;
  return {
    add(entries) {
      const lines = entries
        .filter(({ body }) => body.length <= MOST_BODY)
        .map(printEntry)
        .join('');
      try {
        octets ??= statSync(current, { throwIfNoEntry: false })?.size ?? 0;
        if (octets > MOST_OCTETS) {
          renameSync(current, old);
          octets = 0;
        }
        appendFileSync(current, lines, { mode: 0o600 });
        octets += lines.length;
        isTold = false;
      } catch (error) {
        octets = undefined;
        if (!isTold) logger.warn({ reason: messageOf(error) }, 'the last entries of the log are not kept here');
        isTold = true;
      }
    },
    upTo(position, behind) {
      const known = new Map<string, Entry>();
      for (const path of [old, current])
        for (const entry of readEntries(path)) known.set(`${entry.number} ${entry.id}`, entry);
      const chain: Entry[] = [];
      for (let at = position; at.number > behind; ) {
        const entry = known.get(`${at.number} ${at.id}`);
        if (!entry) break;
        chain.push(entry);
        at = { number: entry.number - 1, id: entry.after };
      }
      return chain.reverse();
    },
  };
}

export function printEntry(entry: Entry): string {
  const { number, id, after, schema, body } = entry;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64');
  const digest = digestOf(entry, []).toString('base64');
  // What a crash has cut off before is a line of its own.
  return `\n${JSON.stringify({ number, id, after, schema, body: text, digest })}\n`;
}

/** The entries in a file; none where there is no file. Lines that were cut or changed are left out. */
export function readEntries(path: string): readonly Entry[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => (line === '' ? [] : (readLine(line) ?? [])));
}

function readLine(line: string): Entry | undefined {
  try {
    const { number, id, after, schema, body, digest } = JSON.parse(line) as Record<string, string>;
    const entry = {
      ...{ number: Number(number), id: String(id), after: String(after), schema: Number(schema) },
      body: Buffer.from(String(body), 'base64'),
    };
    return digestOf(entry, []).toString('base64') === digest ? entry : undefined;
  } catch {
    return undefined;
  }
}
