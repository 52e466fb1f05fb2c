/** Where the parts of a backup are: a database file, and beside it the bodies of large objects and the sums of all. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { syncAll } from '../base/durable.js';
import { BLOB_DIRECTORY } from '../bucket/blobs.js';

export interface BackupPlace {
  readonly database: string;
  /** A directory like that of the server. */
  readonly bodies: string;
  /** SHA-256 of the database and of each body, as `sha256sum --check` reads them. */
  readonly sums: string;
}

/** `file`: the one that people name. */
export function backupPlace(file: string): BackupPlace {
  return { database: file, bodies: `${file}.${BLOB_DIRECTORY}`, sums: `${file}.sha256` };
}

/** Forces all parts and the directories of bodies to the disk. Throws system errors. */
export function syncBackup({ database, bodies, sums }: BackupPlace): void {
  const below = existsSync(bodies) ? readdirSync(bodies, { recursive: true, withFileTypes: true }) : [];
  const files = below.map((entry) => join(entry.parentPath, entry.name));
  syncAll([...(below.length > 0 ? [bodies, ...files] : []), database, ...(existsSync(sums) ? [sums] : [])]);
}
