/**
 * While a backup is made, by whatever process, bodies that no object uses any more stay where they are. Whoever removes a body
 * looks at this lock after the write that gave the object up; the backup takes it before it copies the database. So what the
 * copy names is there.
 */
import { join } from 'node:path';
import { type FileLock, isFileLocked, shareFileLock } from '../file-lock.js';

const LOCK_FILE = 'backup.lock';

/** Until it is released, or this process has ended. */
export function holdBodies(dataDirectory: string): FileLock {
  return shareFileLock(join(dataDirectory, LOCK_FILE));
}

export function areBodiesHeld(dataDirectory: string): boolean {
  return isFileLocked(join(dataDirectory, LOCK_FILE));
}
