/** Where the parts of a backup are: a database file, and beside it the bodies of large objects and the sums of all. */
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
