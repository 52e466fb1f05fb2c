/**
 * Copies of the database in PostgreSQL, from which nodes begin: the file in pieces, each deflated. The file knows its own
 * position in the log.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { makeDirectories } from '../base/directories.js';
import { syncPath } from '../base/durable.js';
import { UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import { DATABASE_FILE, openStore, type Store } from '../store/driver.js';
import { isKnownSchema, SCHEMA_VERSION, schemaVersion } from '../store/migrate.js';
import { replaceContent } from '../store/replace.js';
import type { Connection } from './connection.js';
import {
  ADD_PIECE,
  ADD_SNAPSHOT,
  END_SNAPSHOT,
  LIST_SNAPSHOTS,
  PRUNE_ENTRIES,
  PRUNE_PARTS,
  PRUNE_SNAPSHOTS,
  READ_PIECE,
} from './statements.js';

export interface Snapshot {
  /** The last entry that it includes. */
  readonly number: number;
  readonly schema: number;
  readonly pieces: number;
  /** Size of the database file. */
  readonly octets: number;
  /** The node that made it. */
  readonly node: string;
  readonly at: Date;
}

/** Octets of the file in one piece. */
const PIECE_OCTETS = 4 << 20;
const PIECE_LIMITS = { answerMs: 60_000 };
/** Speed matters more than size: nodes wait for it. */
const DEFLATE_LEVEL = 3;
/** Where a copy is made or fetched, inside the data directory; on the same file system as the database. */
const DRAFT_DIRECTORY = 'cluster-copy';

const deflate = promisify(deflateRaw) as (body: Uint8Array, options: { readonly level: number }) => Promise<Buffer>;
const inflate = promisify(inflateRaw) as (
  body: Uint8Array,
  options: { readonly maxOutputLength: number },
) => Promise<Buffer>;

/** The newest first. */
export async function listSnapshots(reader: Connection): Promise<readonly Snapshot[]> {
  const rows = await reader.query(LIST_SNAPSHOTS);
  return rows.map((row) => ({
    number: Number(row['number']),
    schema: Number(row['schema']),
    pieces: Number(row['pieces']),
    octets: Number(row['octets']),
    node: String(row['node']),
    at: row['at'] as Date,
  }));
}

/**
 * Stores a copy of the database as it is now, and removes what no node needs any more. Returns its number. `own`: a connection
 * for nothing else, because it holds a transaction.
 */
export async function makeSnapshot(store: Store, dataDir: string, own: Connection, node: string): Promise<number> {
  const draft = join(dataDir, `${DRAFT_DIRECTORY}-out`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  try {
    await store.backup(join(draft, DATABASE_FILE));
    const copy = openStore(draft, { readonly: true });
    const { number } = copy.position();
    const schema = schemaVersion(copy);
    copy.close();
    await upload(join(draft, DATABASE_FILE), { number, schema, node }, own);
    for (const text of [PRUNE_SNAPSHOTS, PRUNE_ENTRIES, PRUNE_PARTS]) await own.query(text, [], PIECE_LIMITS);
    return number;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function upload(path: string, about: Pick<Snapshot, 'number' | 'schema' | 'node'>, own: Connection) {
  const { number, schema, node } = about;
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    await own.query('BEGIN');
    const [added] = await own.query(ADD_SNAPSHOT, [number, schema, size, node]);
    const buffer = Buffer.allocUnsafe(PIECE_OCTETS);
    let pieces = 0;
    // Another node may have made one of the same position.
    for (let at = 0; added && at < size; pieces++) {
      const length = readSync(file, buffer, 0, PIECE_OCTETS, at);
      at += length;
      const body = await deflate(buffer.subarray(0, length), { level: DEFLATE_LEVEL });
      await own.query(ADD_PIECE, [number, pieces, body], PIECE_LIMITS);
    }
    if (added) await own.query(END_SNAPSHOT, [number, pieces]);
    await own.query('COMMIT', [], PIECE_LIMITS);
  } finally {
    closeSync(file);
  }
}

/**
 * Fetches the newest snapshot as the database of a data directory; the content of one that is there is replaced. Throws a
 * UserError when there is no snapshot, or no room for it.
 */
export async function fetchSnapshot(reader: Connection, dataDir: string): Promise<Snapshot> {
  const snapshots = await listSnapshots(reader);
  const snapshot = snapshots.find(({ schema }) => isKnownSchema(schema));
  if (!snapshot) throw noSnapshot(snapshots);
  const draft = join(dataDir, DRAFT_DIRECTORY);
  rmSync(draft, { recursive: true, force: true });
  makeDirectories(draft, 0o700);
  try {
    await download(reader, snapshot, join(draft, DATABASE_FILE));
    const path = join(dataDir, DATABASE_FILE);
    if (existsSync(path)) await replaceContent(path, join(draft, DATABASE_FILE));
    else {
      renameSync(join(draft, DATABASE_FILE), path);
      syncPath(dataDir);
    }
  } catch (error) {
    throw explainFileFailure(error, draft);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return snapshot;
}

function noSnapshot(others: readonly Snapshot[]): UserError {
  if (others.length === 0) {
    return new UserError(
      'the cluster has no snapshot from which this node could begin',
      'Run `zoneplane cluster snapshot` on a node that is up to date.',
    );
  }
  return others.some(({ schema }) => schema > SCHEMA_VERSION)
    ? new UserError(
        'all snapshots of the cluster were made by a newer version of zoneplane',
        'Install that version on this node.',
      )
    : new UserError(
        'all snapshots of the cluster were made by previews of zoneplane whose tables are older',
        'Upgrade the other nodes first, as docs/operations.md says, and run `zoneplane cluster snapshot` on one of them.',
      );
}

async function download(reader: Connection, { number, pieces, octets }: Snapshot, path: string): Promise<void> {
  const file = openSync(path, 'wx', 0o600);
  try {
    let written = 0;
    for (let piece = 0; piece < pieces; piece++) {
      const [found] = await reader.query(READ_PIECE, [number, piece], PIECE_LIMITS);
      if (!found) throw new UserError(`snapshot ${number} was removed while it was fetched`, 'Try again.');
      const body = await inflate(found['body'] as Uint8Array, { maxOutputLength: PIECE_OCTETS });
      // All of it, or an error: a single write stores less where the disk becomes full.
      writeFileSync(file, body);
      written += body.length;
    }
    if (written !== octets) throw new UserError(`snapshot ${number} is not whole`, 'Make another one.');
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
