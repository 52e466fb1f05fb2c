/** The thread of aside.ts. It gets the path of a database, and has no handle but while it copies. */
import { parentPort } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { invariant } from '../../base/errors.js';

const port = parentPort;
invariant(port, 'this runs in a thread');

port.on('message', (path: string) => {
  try {
    copy(path);
  } catch {
    // Perhaps the disk is full. What was committed stays in the log, and the next checkpoint copies it.
  }
  port.postMessage('done');
});

/** Waits for no reader and no writer. */
function copy(path: string): void {
  const database = new Database(path, { fileMustExist: true });
  try {
    database.pragma('synchronous = FULL');
    database.pragma('wal_checkpoint(PASSIVE)');
  } finally {
    database.close();
  }
}
