/** A backup as a tar archive that is sent while it is read, such as to another machine. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BLOB_DIRECTORY } from '../bucket/blobs.js';
import { DATABASE_FILE } from '../store/driver.js';
import { openDraft } from './draft.js';
import { type BackupPlace, backupPlace } from './place.js';
import { type TarMember, tarOf } from './tar.js';
import { type BackupSource, type Written, writeBackup } from './write.js';

/** In the data directory, while a backup is sent. */
export const STREAMING = 'streaming';

/**
 * The backup is made in the data directory, where bodies that are files are links and need no room, and read as a restoration would
 * before anything is sent. Unpacked, it is what `zoneplane backup` writes.
 */
export async function streamBackup(source: BackupSource, out: NodeJS.WritableStream): Promise<Written> {
  const dataDirectory = dirname(source.store.path);
  const draft = openDraft(join(dataDirectory, STREAMING), [join(dataDirectory, STREAMING)]);
  try {
    const place = backupPlace(join(draft.path, DATABASE_FILE));
    const previous = { ...place, bodies: join(dataDirectory, BLOB_DIRECTORY) };
    const written = await writeBackup({ ...source, previous }, place.database);
    await pipeline(tarOf(membersOf(place), source.clock.nowMs()), out);
    return written;
  } finally {
    draft.discard();
  }
}

/** The database last, so that an archive that was cut has none. */
function* membersOf({ database, bodies, sums }: BackupPlace): Generator<TarMember> {
  for (const shard of existsSync(bodies) ? readdirSync(bodies) : []) {
    for (const body of readdirSync(join(bodies, shard))) {
      yield { name: `${DATABASE_FILE}.${BLOB_DIRECTORY}/${shard}/${body}`, path: join(bodies, shard, body) };
    }
  }
  yield { name: `${DATABASE_FILE}.sha256`, path: sums };
  yield { name: DATABASE_FILE, path: database };
}
