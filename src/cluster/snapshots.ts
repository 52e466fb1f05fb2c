/**
 * Copies of the database in PostgreSQL, from which nodes begin: the file in pieces, each deflated and stored once, so that the
 * next copy adds only those that have changed. The file knows its own position in the log.
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
import { LogUnavailable } from '../store/failures.js';
import { isKnownSchema, schemaVersion } from '../store/migrate.js';
import { SCHEMA_VERSION } from '../store/migrations/migration.js';
import { replaceContent } from '../store/replace.js';
import type { Connection } from './connection.js';
import { isSame, sumOf } from './digest.js';
import {
  ADD_CONTENT,
  ADD_PIECES,
  ADD_SNAPSHOT,
  BEGIN_SNAPSHOT,
  END_SNAPSHOT,
  LIST_SNAPSHOTS,
  PRUNE_CONTENTS,
  PRUNE_ENTRIES,
  PRUNE_PARTS,
  PRUNE_SNAPSHOTS,
  READ_PIECES,
  WEIGH_LOG,
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

/** Octets of the file in one piece: 64 pages. */
const PIECE_OCTETS = 256 << 10;
/** Pieces that are sent or asked for at once. */
const AT_ONCE = 16;
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
    const { number, id } = copy.position();
    const schema = schemaVersion(copy);
    copy.close();
    await upload(join(draft, DATABASE_FILE), { number, id, schema, node }, own);
    for (const text of [PRUNE_ENTRIES, PRUNE_PARTS]) await own.query(text, [], PIECE_LIMITS);
    return number;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

interface Draft extends Pick<Snapshot, 'number' | 'schema' | 'node'> {
  /** Of the last entry. */
  readonly id: string;
}

async function upload(path: string, { number, id, schema, node }: Draft, own: Connection): Promise<void> {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    await own.query(BEGIN_SNAPSHOT, [], PIECE_LIMITS);
    const [added] = await own.query(ADD_SNAPSHOT, [number, schema, size, node, id]);
    if (added) await uploadPieces(file, size, number, own);
    // Another node may have made one of the same position.
    else if (!(await listSnapshots(own)).some((snapshot) => snapshot.number === number)) throw notInLog(number);
    for (const text of [PRUNE_SNAPSHOTS, PRUNE_CONTENTS, 'COMMIT']) await own.query(text, [], PIECE_LIMITS);
  } finally {
    closeSync(file);
  }
}

async function uploadPieces(file: number, size: number, number: number, own: Connection): Promise<void> {
  const buffer = Buffer.allocUnsafe(AT_ONCE * PIECE_OCTETS);
  let pieces = 0;
  for (let at = 0; at < size; ) {
    const length = readSync(file, buffer, 0, buffer.length, at);
    at += length;
    const read = Array.from({ length: Math.ceil(length / PIECE_OCTETS) }, (_, index) =>
      buffer.subarray(index * PIECE_OCTETS, Math.min(length, (index + 1) * PIECE_OCTETS)),
    );
    const digests = read.map(sumOf);
    for (const { piece } of await own.query(ADD_PIECES, [number, pieces, Buffer.concat(digests)], PIECE_LIMITS)) {
      const index = Number(piece) - pieces;
      const body = await deflate(read[index]!, { level: DEFLATE_LEVEL });
      const [stored] = await own.query(ADD_CONTENT, [digests[index]!, body, sumOf(body)], PIECE_LIMITS);
      if (!stored) throw new LogUnavailable(`a piece of snapshot ${number} was damaged on the way to PostgreSQL`);
    }
    pieces += read.length;
  }
  await own.query(END_SNAPSHOT, [number, pieces]);
}

/** A node that joins applies no more than that behind the snapshot; a copy of a larger database costs more. */
const LEAST_LOG = 1 << 20;
const MOST_LOG = 64 << 20;
const LOG_SHARE = 8;

/** How much of the log is behind a snapshot, in parts of what is to be there at most. */
export async function logBehind(reader: Connection, newest: Snapshot | undefined): Promise<number> {
  const most = Math.min(MOST_LOG, Math.max(LEAST_LOG, (newest?.octets ?? 0) / LOG_SHARE));
  const [row] = await reader.query(WEIGH_LOG, [newest?.number ?? 0]);
  return Number(row!['weight']) / most;
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
    for (let piece = 0; piece < pieces; piece += AT_ONCE) {
      const found = await reader.query(READ_PIECES, [number, piece, AT_ONCE], PIECE_LIMITS);
      if (found.length < Math.min(AT_ONCE, pieces - piece))
        throw new UserError(`snapshot ${number} was removed while it was fetched`, 'Try again.');
      for (const { digest, body } of found) {
        const octets = body instanceof Uint8Array ? await inflate(body, { maxOutputLength: PIECE_OCTETS }) : undefined;
        if (!octets || !isSame(digest, sumOf(octets))) throw damagedPiece(number);
        // All of it, or an error: a single write stores less where the disk becomes full.
        writeFileSync(file, octets);
        written += octets.length;
      }
    }
    if (written !== octets) throw new UserError(`snapshot ${number} is not whole`, 'Make another one.');
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function notInLog(number: number): UserError {
  return new UserError(
    `the log does not have entry ${number} of this copy`,
    'Start this node, so that it gets the history of the log, or make the snapshot on another one.',
  );
}

function damagedPiece(number: number): UserError {
  return new UserError(
    `a piece of snapshot ${number} is damaged`,
    'Try again; if it stays, run `zoneplane cluster snapshot` on a node that is up to date.',
  );
}
