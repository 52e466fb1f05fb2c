/**
 * A thread that reads zones for transfers. It reads each in one snapshot and at full speed, into memory or, when that
 * becomes much, into a file without a name. So a slow client holds neither the database nor the memory.
 */
import { closeSync, openSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { invariant, messageOf } from '../../base/errors.js';
import { serialIsAfter } from '../../dns/serial.js';
import { servingZone } from '../../serving/zone.js';
import { openStore } from '../../store/driver.js';
import { findServedZone } from '../../store/zones/zones.js';
import { differences, onlySoa, wholeZone } from './content.js';
import type { SpoolMessage, SpoolOrder, SpoolThreadData } from './spool-order.js';

/** Octets that stay in memory. */
const MOST_IN_MEMORY = 4 * 1024 * 1024;
/** Octets that are written at once, and after which the receiver is told. */
const PIECE = 1024 * 1024;

const { dataDir, serving } = workerData as SpoolThreadData;
const port = parentPort;
invariant(port, 'this runs in a thread');
lowerPriority();
const store = openStore(dataDir, { readonly: true });
const tell = (message: SpoolMessage, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

/** Queries come first. On Linux, a thread has a priority of its own (setpriority(2), "C library/kernel differences"). */
function lowerPriority(): void {
  try {
    const [, tid] = /task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
    if (tid !== undefined) setPriority(Number(tid), constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Elsewhere it reads with the priority of the process.
  }
}

port.on('message', (order: SpoolOrder) => {
  const sink = createSink();
  try {
    const served = store.snapshot(() => {
      const messages = messagesFor(order);
      if (!messages) return false;
      for (const message of messages) sink.add(message);
      return true;
    });
    if (served) sink.finish();
    else tell({ kind: 'gone' });
  } catch (error) {
    sink.close();
    tell({ kind: 'failure', text: messageOf(error) });
  }
});

function messagesFor({ zone: seq, from }: SpoolOrder): Iterable<Uint8Array> | undefined {
  const row = findServedZone(store, seq);
  if (!row) return undefined;
  const zone = servingZone(store, row, serving);
  if (from === undefined) return wholeZone(store, zone);
  if (!serialIsAfter(row.serial, from)) return onlySoa(zone);
  return differences(store, zone, from) ?? wholeZone(store, zone);
}

interface Sink {
  add(message: Uint8Array): void;
  finish(): void;
  /** Gives up: nothing will be sent. */
  close(): void;
}

function createSink(): Sink {
  let pieces: Uint8Array[] = [];
  let waiting = 0;
  let fd = -1;
  let written = 0;

  const flush = (done: boolean): void => {
    const octets = joinFrames(pieces, waiting);
    for (let at = 0; at < octets.length; ) at += writeSync(fd, octets, at);
    written += octets.length;
    pieces = [];
    waiting = 0;
    tell({ kind: 'file', fd, written, done });
  };

  return {
    add(message) {
      pieces.push(message);
      waiting += 2 + message.length;
      if (fd < 0 && waiting > MOST_IN_MEMORY) fd = openNameless();
      if (fd >= 0 && waiting > PIECE) flush(false);
    },
    finish() {
      if (fd >= 0) {
        flush(true);
        return;
      }
      const octets = joinFrames(pieces, waiting);
      tell({ kind: 'memory', octets }, [octets.buffer as ArrayBuffer]);
    },
    close() {
      // Once the receiver knows the descriptor, it closes it.
      if (fd >= 0 && written === 0) closeSync(fd);
    },
  };
}

function joinFrames(messages: readonly Uint8Array[], octets: number): Uint8Array {
  const frames = new Uint8Array(octets);
  let at = 0;
  for (const message of messages) {
    frames[at] = message.length >>> 8;
    frames[at + 1] = message.length;
    frames.set(message, at + 2);
    at += 2 + message.length;
  }
  return frames;
}

/** A file that disappears when it is closed, also by a crash. */
function openNameless(): number {
  const path = join(dataDir, `transfer-${process.pid}-${threadId}.spool`);
  rmSync(path, { force: true });
  const fd = openSync(path, 'wx+', 0o600);
  rmSync(path);
  return fd;
}
