/** Objects: their metadata, the bodies of small ones, and the unused files of large ones. */
import {
  allRows,
  allTuples,
  column,
  columns,
  hasRow,
  insertion,
  oneRow,
  type RowOf,
  runs,
  valueIfAny,
  valueOrZero,
} from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { hasTable } from '../integrity.js';
import type { StorageClass } from './buckets.js';

const OBJECT = columns({
  bucket: column<number>(),
  key: column<string>(),
  /** A UUID that changes with every upload. */
  version: column<string>(),
  /** Octets. */
  size: column<number>(),
  md5: column<Uint8Array>(),
  storage_class: column<StorageClass>(),
  /** JSON objects of texts. */
  http_metadata: column<string>(),
  custom_metadata: column<string>(),
  /** Total octets of both. */
  metadata_size: column<number>(),
  /** Microseconds since 1970. */
  uploaded_at: column<number>(),
  /** Name of the file that contains the body; null when the body is in the database. */
  blob: column<string | null>(),
  /** The upload whose parts are the body; null when the body is one. */
  upload: column<number | null>(),
  /** How many parts it has. */
  parts: column<number | null>(),
  /** What the client sent: name and value in base64; null when it sent none. */
  checksum: column<string | null>(),
  /** That of the body; null when it is not known, or the body is that of parts. */
  crc32: column<number | null>(),
});

export interface ObjectRow extends RowOf<typeof OBJECT> {
  readonly seq: number;
}

/** What lists show. */
const ENTRY = OBJECT.only('key', 'size', 'md5', 'parts', 'storage_class', 'uploaded_at');

export type EntryRow = RowOf<typeof ENTRY>;

/** An object, or a part of one or of an upload, whose body is a file. */
export type ObjectInFile = Pick<ObjectRow, 'seq' | 'bucket' | 'key' | 'size' | 'md5'> & {
  readonly blob: string;
  readonly bucket_name: string;
};

/** An object whose body is in the database; null when it is not there. */
export type ObjectInRow = Pick<ObjectRow, 'seq' | 'bucket' | 'key' | 'size' | 'md5'> & {
  readonly octets: Uint8Array | null;
  readonly bucket_name: string;
};

/** The same members as a tuple, with the digest in hexadecimal: a thousand of these are read in half the time. */
export type EntryTuple = readonly [
  key: string,
  size: number,
  md5: string,
  parts: number | null,
  storageClass: StorageClass,
  uploadedAt: number,
];

export type NewObjectRow = RowOf<typeof OBJECT>;

const COLUMNS = 'objects.seq, objects.bucket, objects.key, size, md5, buckets.name AS bucket_name';
const BODIES = `SELECT ${COLUMNS}, blob, upload, octets FROM objects JOIN buckets ON buckets.seq = bucket
   LEFT JOIN object_contents ON object = objects.seq`;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('objects', OBJECT)),
  insertContents: store.prepare<[object: number, octets: Uint8Array]>(
    'INSERT INTO object_contents (object, octets) VALUES (?, ?)',
  ),
  classify: store.prepare<[storageClass: string, seq: number]>('UPDATE objects SET storage_class = ? WHERE seq = ?'),
  blobInUse: store.prepareTuples<[blob: string, blob: string], [1]>(
    'SELECT 1 FROM objects WHERE blob = ? UNION ALL SELECT 1 FROM parts WHERE blob = ?',
  ),
  garbage: store.prepareTuples<[untilMs: number, partsUntilMs: number, limit: number], [blob: string]>(
    `SELECT blob FROM blob_garbage WHERE (is_part = 0 AND noted_at <= ?) OR (is_part = 1 AND noted_at <= ?)
     ORDER BY blob LIMIT ?`,
  ),
  garbageAfter: store.prepareTuples<[after: string, limit: number], [last: string | null]>(
    'SELECT max(blob) FROM (SELECT blob FROM blob_garbage WHERE blob > ? ORDER BY blob LIMIT ?)',
  ),
  noteGarbage: store.prepare<[nowMs: number, after: string, last: string]>(
    'UPDATE blob_garbage SET noted_at = ? WHERE blob > ? AND blob <= ? AND noted_at IS NULL',
  ),
}));

export const findObject = oneRow<[bucket: number, key: string], ObjectRow>(
  'SELECT * FROM objects WHERE bucket = ? AND key = ?',
);

/** The body of an object that is stored in the database. */
export const contentsOfObject = valueIfAny<[object: number], Uint8Array>(
  'SELECT octets FROM object_contents WHERE object = ?',
);

/** Whether a bucket contains any object. */
export const hasObjects = hasRow<[bucket: number]>('SELECT 1 FROM objects WHERE bucket = ? LIMIT 1');

/** Objects whose keys are at or after `from`, in the order of the keys' octets. */
export const objectsFrom = allRows<[bucket: number, from: string, limit: number], ObjectRow>(
  'SELECT * FROM objects WHERE bucket = ? AND key >= ? ORDER BY key LIMIT ?',
);

/** The same without metadata. */
export const entriesFrom = allRows<[bucket: number, from: string, limit: number], EntryRow>(
  `SELECT ${ENTRY.list} FROM objects WHERE bucket = ? AND key >= ? ORDER BY key LIMIT ?`,
);

export const entryTuplesFrom = allTuples<
  [bucket: number, from: string, limit: number],
  EntryTuple
>(`SELECT key, size, lower(hex(md5)), parts, storage_class, uploaded_at FROM objects
     WHERE bucket = ? AND key >= ? ORDER BY key LIMIT ?`);

/** Returns the row number of the new object. `contents`: the body, when it is stored in the database. */
export function insertObject(store: Store, row: NewObjectRow, contents: Uint8Array | undefined): number {
  const { insert, insertContents } = statements(store);
  const { lastInsertRowid: seq } = insert.run(...OBJECT.values(row));
  if (contents) insertContents.run(seq, contents);
  return seq;
}

/** Moves an object to another storage class. */
export function setObjectClass(store: Store, seq: number, storageClass: StorageClass): void {
  statements(store).classify.run(storageClass, seq);
}

/** A trigger records the body's file as garbage. */
export const removeObject = runs<[seq: number]>('DELETE FROM objects WHERE seq = ?');

/** Whether the body of an object or of a part is in the file with this name. */
export function isBlobUsed(store: Store, blob: string): boolean {
  return statements(store).blobInUse.get(blob, blob) !== undefined;
}

/** Whether bodies wait to be removed. */
export const hasGarbage = hasRow<[]>('SELECT 1 FROM blob_garbage LIMIT 1');

/**
 * Gives a time to bodies that no object uses and that have none yet, among the next `limit` behind a name. Returns the last name;
 * undefined at the end.
 */
export function noteGarbage(store: Store, nowMs: number, after: string, limit: number): string | undefined {
  const { garbageAfter, noteGarbage: note } = statements(store);
  const last = garbageAfter.get(after, limit)?.[0] ?? undefined;
  if (last !== undefined) note.run(nowMs, after, last);
  return last;
}

/** Names of bodies that nothing uses, noted until a time, and of parts until another one; no more than `limit`. */
export function garbageBlobs(store: Store, untilMs: number, partsUntilMs: number, limit: number): string[] {
  return statements(store)
    .garbage.all(untilMs, partsUntilMs, limit)
    .map(([blob]) => blob);
}

/** An object with its body, or with the name of its body. */
export type BodyOfObject = ObjectInRow & { readonly blob: string | null; readonly upload: number | null };

/** A database of version 1.0 has no parts. */
const hasParts = (store: Store): boolean => hasTable(store, 'parts');

const FILES = `SELECT ${COLUMNS}, blob FROM objects JOIN buckets ON buckets.seq = bucket WHERE blob IS NOT NULL`;
const PARTS = `SELECT parts.seq, uploads.bucket, uploads.key, parts.size, parts.md5, buckets.name AS bucket_name, parts.blob
   FROM parts JOIN uploads ON uploads.seq = upload JOIN buckets ON buckets.seq = uploads.bucket`;

/**
 * Bodies that are files, those of parts too, read row by row like the records of a zone; also in a backup with an older schema.
 */
export function* objectsWithFiles(store: Store): IterableIterator<ObjectInFile> {
  yield* store.prepare<[], ObjectInFile>(`${FILES} ORDER BY objects.seq`).iterate();
  if (hasParts(store)) yield* store.prepare<[], ObjectInFile>(`${PARTS} ORDER BY parts.seq`).iterate();
}

/** The other ones. */
export function objectsInRows(store: Store): IterableIterator<ObjectInRow> {
  return store
    .prepare<[], ObjectInRow>(
      `SELECT ${COLUMNS}, octets FROM objects JOIN buckets ON buckets.seq = bucket
       LEFT JOIN object_contents ON object = objects.seq
       WHERE blob IS NULL ${hasParts(store) ? 'AND upload IS NULL' : ''} ORDER BY objects.seq`,
    )
    .iterate();
}

/** The octets of a body that is removed at once do not count for its account any more. */
export const uncountGarbage = runs<[blob: string]>('UPDATE blob_garbage SET account = NULL WHERE blob = ?');

/** Records that a file was deleted. */
export const forgetGarbage = runs<[blob: string]>('DELETE FROM blob_garbage WHERE blob = ?');

/** The next objects behind a row number. */
export const bodiesAfter = allRows<[seq: number, limit: number], BodyOfObject>(
  `${BODIES} WHERE objects.seq > ? ORDER BY objects.seq LIMIT ?`,
);

export const bodyOf = oneRow<[seq: number], BodyOfObject>(`${BODIES} WHERE objects.seq = ?`);

/** Octets of the bodies of all objects. */
export const octetsOfBodies = valueOrZero<[]>('SELECT sum(size) FROM objects');
