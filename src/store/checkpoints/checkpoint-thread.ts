/**
 * The thread that makes checkpoints. It has a handle of its own, and writers and readers do not wait for it: it copies pages of
 * the write-ahead log that are durable already, and readers that need an older state hold it back.
 */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { invariant, messageOf } from '../../base/errors.js';
import { storeFailure } from '../sqlite-failure.js';
import { makeCheckpoint } from '../write-ahead-log.js';
import type { CheckpointOrder, CheckpointReport } from './order.js';

/** It reads the schema only. */
const CACHE_KIB = 64;

const path = workerData as string;
const port = parentPort;
invariant(port, 'this runs in a thread');
let database: Database.Database | undefined;

port.on('message', (order: CheckpointOrder) => {
  if (order === 'end') {
    database?.close();
    port.close();
    return;
  }
  let report: CheckpointReport;
  try {
    database ??= open();
    report = makeCheckpoint(database, 'passive');
  } catch (error) {
    database?.close();
    database = undefined;
    report = { failure: messageOf(storeFailure(error)) };
  }
  port.postMessage(report);
});

function open(): Database.Database {
  const opened = new Database(path, { fileMustExist: true });
  // Both files are synced: the log before its pages are copied, the database before the log may begin anew.
  opened.pragma('synchronous = FULL');
  opened.pragma(`cache_size = -${CACHE_KIB}`);
  opened.pragma('schema_version');
  return opened;
}
