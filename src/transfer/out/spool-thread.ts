/**
 * A thread that reads zones for transfers. It reads each in one snapshot and at full speed, into memory or, when that
 * becomes much, into a file without a name. So a slow client holds neither the database nor the memory.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { invariant, messageOf } from '../../base/errors.js';
import { Steps, standBack } from '../../base/process/scheduling.js';
import { writeLength } from '../../dns/frames.js';
import { serialIsAfter } from '../../dns/serial.js';
import { servingZone } from '../../serving/zone.js';
import { openStore } from '../../store/driver.js';
import { findServedZone } from '../../store/zones/zones.js';
import { differences, onlySoa, wholeZone } from './content.js';
import type { SpoolMessage, SpoolOrder, SpoolThreadData } from './spool-order.js';

/** Octets that are written to the file at once, and after which the receiver is told. A zone with fewer needs no file. */
const PIECE = 512 * 1024;
/** The zone is read from its beginning to its end, so that hardly any page is used again. */
const CACHE_KIB = 512;

const { dataDir, serving } = workerData as SpoolThreadData;
const port = parentPort;
invariant(port, 'this runs in a thread');
standBack(Steps.background, 'thread');
const store = openStore(dataDir, { readonly: true, cacheKib: CACHE_KIB });
const tell = (message: SpoolMessage, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

port.on('message', (order: SpoolOrder) => {
  const sink = createSink();
  try {
    const instead = store.snapshot((): 'gone' | 'whole' | undefined => {
      const messages = messagesFor(order);
      if (typeof messages === 'string') return messages;
      for (const message of messages) sink.add(message);
      return undefined;
    });
    if (instead) tell({ kind: instead });
    else sink.finish();
  } catch (error) {
    sink.close();
    tell({ kind: 'failure', text: messageOf(error) });
  }
});

function messagesFor({ zone: seq, from }: SpoolOrder): Iterable<Uint8Array> | 'gone' | 'whole' {
  const row = findServedZone(store, seq);
  if (!row) return 'gone';
  const zone = servingZone(store, row, serving);
  if (from === undefined) return wholeZone(store, zone);
  if (row.serial === from || serialIsAfter(from, row.serial)) return onlySoa(zone);
  return differences(store, zone, from) ?? 'whole';
}

interface Sink {
  add(message: Uint8Array): void;
  finish(): void;
  /** Gives up: nothing will be sent. */
  close(): void;
}

/** What is not in a file yet. The system gives it memory as far as it is filled. */
const piece = new Uint8Array(PIECE);

function createSink(): Sink {
  let waiting = 0;
  let fd = -1;
  let written = 0;

  const flush = (done: boolean): void => {
    if (fd < 0) fd = openNameless();
    for (let at = 0; at < waiting; ) at += writeSync(fd, piece, at, waiting - at);
    written += waiting;
    waiting = 0;
    tell({ kind: 'file', fd, written, done });
  };

  return {
    add(message) {
      if (waiting + 2 + message.length > PIECE) flush(false);
      writeLength(piece, waiting, message.length);
      piece.set(message, waiting + 2);
      waiting += 2 + message.length;
    },
    finish() {
      if (fd >= 0) {
        flush(true);
        return;
      }
      const octets = piece.slice(0, waiting);
      tell({ kind: 'memory', octets }, [octets.buffer]);
    },
    close() {
      // Once the receiver knows the descriptor, it closes it.
      if (fd >= 0 && written === 0) closeSync(fd);
    },
  };
}

/** A file that disappears when it is closed, also by a crash. */
function openNameless(): number {
  const path = join(dataDir, `transfer-${process.pid}-${threadId}.spool`);
  rmSync(path, { force: true });
  const fd = openSync(path, 'wx+', 0o600);
  rmSync(path);
  return fd;
}
