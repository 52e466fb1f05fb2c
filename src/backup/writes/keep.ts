/** Keeps the log of writes beside the backups: takes writes out of the database, soon after they were made. */
import { closeSync, existsSync, ftruncateSync, openSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { toHex } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { syncPath } from '../../base/durable.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { Random } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import {
  beginWriteLog,
  endWriteLog,
  lastLoggedWrite,
  octetsOnTheirWay,
  removeLoggedWrites,
  writeLogSeries,
  writesOnTheirWay,
} from '../../store/log/write-log.js';
import { schemaVersion } from '../../store/migrate.js';
import { limitWrites, mostOctetsOfWrites } from './prune.js';
import { packWrite, readSegment } from './segment.js';
import { segmentPath } from './segments.js';

export interface KeepOptions {
  readonly store: Store;
  readonly directory: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** A history begins, which no backup has yet. */
  readonly onBegin: () => void;
  /** Of all files of writes together; default: by the size of the database. */
  readonly mostOctets?: number;
}

export interface WriteKeeper {
  /** All writes up to that moment are in the log, milliseconds since 1970; 0: of none is that known. */
  reachedMs(): number;
  /** Takes out what was written before this call, if the disk allows it. */
  look(): Promise<void>;
  close(): Promise<void>;
}

const LOOK_MS = 1000;
/** How often it says that nothing was written. */
const QUIET_MS = 10_000;
/** Octets that are read at once. */
const AT_ONCE = 16 << 20;
/** Octets of a file of writes before another begins. */
const SEGMENT_OCTETS = 64 << 20;
/** Octets that may wait in the database for a disk that takes nothing. */
const MOST_WAITING = 64 << 20;

/** Ends with its `close`. What is wrong with the disk is in the log, once, and tried again. */
export function keepWrites(options: KeepOptions): WriteKeeper {
  const { store, clock, log } = options;
  const file = createSegmentFile(options);
  let reached = 0;
  let isFailing = false;
  let running: Promise<void> | undefined;

  const take = async (): Promise<void> => {
    const id = await currentSeries(options, file);
    for (;;) {
      const beforeMs = clock.nowMs();
      const writes = writesOnTheirWay(store, 0, AT_ONCE);
      const last = writes.at(-1)?.number;
      if (last === undefined && beforeMs - reached < QUIET_MS && beforeMs >= reached) return;
      const quiet = { number: lastLoggedWrite(store), writtenAtMs: beforeMs, schema: 0, body: new Uint8Array() };
      const isEnd = last === undefined || last === quiet.number;
      const packed = [...writes, ...(isEnd ? [quiet] : [])].map(packWrite);
      await file.append(id, writes[0]?.number ?? quiet.number + 1, Buffer.concat(packed));
      if (last !== undefined) await store.write(() => removeLoggedWrites(store, last));
      if (!isEnd) continue;
      reached = beforeMs;
      return;
    }
  };
  const look = async (): Promise<void> => {
    try {
      await take();
      if (isFailing) log.info('the log of writes is kept again');
      isFailing = false;
    } catch (error) {
      await file.close().catch(() => undefined);
      if (!isFailing) log.error({ reason: messageOf(error) }, 'the log of writes is not kept; it is tried again');
      isFailing = true;
      await giveUpWhenFull(store, log);
    }
  };
  /** One at a time: who calls meanwhile waits for the next one. */
  const next = (): Promise<void> => {
    const before = running ?? Promise.resolve();
    const own = before.then(look).finally(() => {
      if (running === own) running = undefined;
    });
    return (running = own);
  };
  const tick = (): void => void (running ?? next());
  tick();
  const cancel = clock.every(LOOK_MS, tick);
  return {
    reachedMs: () => reached,
    look: next,
    async close() {
      cancel();
      await next();
      await file.close().catch(() => undefined);
    },
  };
}

/** Where no log is kept any more, none is begun in the database. */
export async function stopKeepingWrites(store: Store): Promise<void> {
  if (writeLogSeries(store) !== undefined) await store.write(() => endWriteLog(store));
}

type SegmentFile = ReturnType<typeof createSegmentFile>;

/** A new history where none is, or where the schema is another one than that of its backups. */
async function currentSeries({ store, random, onBegin }: KeepOptions, file: SegmentFile): Promise<string> {
  const current = writeLogSeries(store);
  if (current && current.schema === schemaVersion(store)) return current.id;
  const id = toHex(random.bytes(4));
  // Only where something can be written.
  await file.append(id, lastLoggedWrite(store) + 1, Buffer.alloc(0));
  await store.write(() => beginWriteLog(store, id));
  onBegin();
  return id;
}

/** What waits must not fill the disk of the database. */
async function giveUpWhenFull(store: Store, log: Logger): Promise<void> {
  try {
    if (octetsOnTheirWay(store) <= MOST_WAITING) return;
    await store.write(() => endWriteLog(store));
    log.error('the log of writes ends here, and begins anew with the next backup');
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'the log of writes cannot be ended');
  }
}

function createSegmentFile({ directory, store, log, mostOctets }: KeepOptions) {
  let current: { readonly id: string; readonly file: FileHandle; octets: number } | undefined;
  /** Whoever writes very much must not fill the disk of the backups. */
  const makeRoom = (): void => {
    const most = mostOctets ?? mostOctetsOfWrites(statSync(store.path).size);
    const removed = limitWrites(directory, most);
    if (removed === 0) return;
    const reason = `files of writes may take ${most} octets`;
    log.warn({ removed, reason }, 'the oldest writes are kept no more: older backups reach fewer moments');
  };
  const close = async (): Promise<void> => {
    const before = current;
    current = undefined;
    await before?.file.close();
  };
  return {
    close,
    /** Appends octets, forced to the disk. `first`: the number of their first write. */
    async append(id: string, first: number, octets: Buffer): Promise<void> {
      if (current && (current.id !== id || current.octets > SEGMENT_OCTETS)) await close();
      if (!current) {
        makeRoom();
        const path = segmentPath(directory, id, first);
        current = { id, octets: cutToWhole(path), file: await open(path, 'a', 0o600) };
        syncPath(directory);
      }
      await current.file.appendFile(octets);
      await current.file.datasync();
      current.octets += octets.length;
    },
  };
}

/** What was interrupted is written again behind the last write that is whole. Returns its octets. */
function cutToWhole(path: string): number {
  if (!existsSync(path)) return 0;
  let end = 0;
  for (const write of readSegment(path)) if (write !== 'damaged') end = write.end;
  const file = openSync(path, 'r+');
  try {
    ftruncateSync(file, end);
  } finally {
    closeSync(file);
  }
  return end;
}
