/** Uploads in parts: those that are open, and those that have become objects, whose bodies their parts are. */
import {
  allRows,
  column,
  columns,
  hasRow,
  inserts,
  oneRow,
  type RowOf,
  runs,
  theValue,
  valueIfAny,
} from '../columns.js';
import { perStore, type Store } from '../driver.js';
import type { StorageClass } from './buckets.js';

const UPLOAD = columns({
  /** What clients name. */
  id: column<string>(),
  bucket: column<number>(),
  key: column<string>(),
  storage_class: column<StorageClass>(),
  http_metadata: column<string>(),
  custom_metadata: column<string>(),
  metadata_size: column<number>(),
  /** Whether the checksum of the object covers its octets or those of the parts; null when the client did not say. */
  checksum_type: column<'FULL_OBJECT' | 'COMPOSITE' | null>(),
  /** Microseconds since 1970. */
  started_at: column<number>(),
});

export type NewUploadRow = RowOf<typeof UPLOAD>;

export interface UploadRow extends NewUploadRow {
  readonly seq: number;
  /** Octets of all its parts. */
  readonly size: number;
  /** Null while it is open. */
  readonly completed_at: number | null;
}

const PART = columns({
  upload: column<number>(),
  number: column<number>(),
  size: column<number>(),
  md5: column<Uint8Array>(),
  /** The name of its body. */
  blob: column<string>(),
  /** What the client sent: name and value in base64; null when it sent none. */
  checksum: column<string | null>(),
  /** That of the body; null when it is not known. */
  crc32: column<number | null>(),
  uploaded_at: column<number>(),
});

export type NewPartRow = RowOf<typeof PART>;

export interface PartRow extends NewPartRow {
  readonly seq: number;
  /** Where it begins in the object, once that is complete; less than 0: it is not one of its parts. */
  readonly first: number;
}

/** The place of a part that is left out. */
const NOWHERE = -1;

const statements = perStore((store) => ({
  complete: store.prepare<[at: number, seq: number]>('UPDATE uploads SET completed_at = ? WHERE seq = ?'),
  remove: store.prepare<[seq: number]>('DELETE FROM uploads WHERE seq = ?'),
  openFrom: store.prepare<[bucket: number, key: string, key: string, seq: number, limit: number], UploadRow>(
    `SELECT * FROM uploads WHERE bucket = ? AND completed_at IS NULL AND (key > ? OR (key = ? AND seq > ?))
     ORDER BY key, seq LIMIT ?`,
  ),
  removeSomeParts: store.prepare<[upload: number, limit: number]>(
    'DELETE FROM parts WHERE seq IN (SELECT seq FROM parts WHERE upload = ? ORDER BY number LIMIT ?)',
  ),
  place: store.prepare<[first: number, seq: number]>('UPDATE parts SET first = ? WHERE seq = ?'),
  layout: store.prepareTuples<[upload: number], [layout: string | null]>(
    "SELECT group_concat(seq || ' ' || first, ',' ORDER BY number) FROM parts WHERE upload = ? AND first >= 0",
  ),
  leftOutOf: store.prepare<[upload: number, limit: number], PartRow>(
    'SELECT * FROM parts WHERE upload = ? AND first < 0 ORDER BY number LIMIT ?',
  ),
  leftOut: store.prepare<[limit: number], PartRow>(
    `SELECT parts.* FROM parts JOIN uploads ON uploads.seq = parts.upload
     WHERE first < 0 AND completed_at IS NOT NULL ORDER BY parts.upload, parts.number LIMIT ?`,
  ),
}));

export const findUpload = oneRow<[id: string], UploadRow>('SELECT * FROM uploads WHERE id = ?');

export const insertUpload = inserts('uploads', UPLOAD);

/** Its parts become the body of an object. Each begins where {@link placePart} has put it. */
export function setUploadCompleted(store: Store, seq: number, at: number): void {
  statements(store).complete.run(at, seq);
}

/** With its parts, whose bodies a trigger notes as garbage. */
export function removeUpload(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}

/** The same, or this many of its parts when it has more. */
export function removeUploadPartly(store: Store, seq: number, most: number): void {
  const { removeSomeParts, remove } = statements(store);
  if (removeSomeParts.run(seq, most).changes < most) remove.run(seq);
}

/** The store number of an upload whose object has gone. */
export const goneUpload = valueIfAny<[], number>('SELECT seq FROM uploads WHERE is_gone = 1 ORDER BY seq LIMIT 1');

/** That of any upload of a bucket. */
export const uploadOfBucket = valueIfAny<[bucket: number], number>(
  'SELECT seq FROM uploads WHERE bucket = ? ORDER BY key, seq LIMIT 1',
);

export const countOpenUploads = theValue<[bucket: number], number>(
  'SELECT count(*) FROM uploads WHERE bucket = ? AND completed_at IS NULL',
);

/** In all buckets of an account (store number). */
export const countOpenUploadsOf = theValue<[account: number], number>(
  `SELECT count(*) FROM uploads JOIN buckets ON buckets.seq = bucket
   WHERE buckets.account = ? AND completed_at IS NULL`,
);

/** Open uploads behind a key and the store number of an upload of that key, in order. */
export function openUploadsAfter(store: Store, bucket: number, key: string, seq: number, limit: number): UploadRow[] {
  return statements(store).openFrom.all(bucket, key, key, seq, limit);
}

/** Open uploads that began before a time, the oldest first, in buckets without lifecycle rules. */
export const openUploadsBefore = allRows<
  [startedAt: number, limit: number],
  UploadRow
>(`SELECT * FROM uploads WHERE completed_at IS NULL AND started_at < ?
       AND NOT EXISTS (SELECT 1 FROM bucket_rules WHERE bucket_rules.bucket = uploads.bucket AND kind = 'lifecycle')
     ORDER BY started_at LIMIT ?`);

export const hasUploads = hasRow<[]>('SELECT 1 FROM uploads LIMIT 1');

export const findPart = oneRow<[upload: number, number: number], PartRow>(
  'SELECT * FROM parts WHERE upload = ? AND number = ?',
);

/** Parts with larger numbers, in their order. */
export const partsAfter = allRows<[upload: number, number: number, limit: number], PartRow>(
  'SELECT * FROM parts WHERE upload = ? AND number > ? ORDER BY number LIMIT ?',
);

export const insertPart = inserts('parts', PART);

/** A trigger notes its body as garbage. */
export const removePart = runs<[seq: number]>('DELETE FROM parts WHERE seq = ?');

/** The same for an upload that is an object: without those that were left out. */
export const objectPartsAfter = allRows<[upload: number, number: number, limit: number], PartRow>(
  'SELECT * FROM parts WHERE upload = ? AND number > ? AND first >= 0 ORDER BY number LIMIT ?',
);

/** Says where a part begins in the object that its upload is to become; undefined: it is left out. */
export function placePart(store: Store, seq: number, first: number | undefined): void {
  statements(store).place.run(first ?? NOWHERE, seq);
}

/** Parts that were left out when their upload, or any upload, was completed. */
export function leftOutParts(store: Store, upload: number | undefined, limit: number): PartRow[] {
  const { leftOut, leftOutOf } = statements(store);
  return upload === undefined ? leftOut.all(limit) : leftOutOf.all(upload, limit);
}

/** Parts that are not left out, and where each of them begins, as a text. */
export type Layout = string;

/** `parts`: each begins where the one before ends. */
export function* layoutOf(parts: readonly Pick<PartRow, 'seq' | 'size'>[]): Generator<undefined, Layout> {
  const places: string[] = [];
  let first = 0;
  for (const { seq, size } of parts) {
    places.push(`${seq} ${first}`);
    first += size;
    yield;
  }
  return places.join(',');
}

/** A part that is sent anew gets a larger store number. */
export function layoutOfUpload(store: Store, upload: number): Layout {
  return statements(store).layout.get(upload)![0] ?? '';
}
