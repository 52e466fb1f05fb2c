/** Objects whose bodies are parts. */
import { toHex } from '../../base/bytes.js';
import { nextSlice } from '../../base/slices.js';
import type { Range } from '../../http/range.js';
import { perStore, type Store } from '../../store/driver.js';
import { findObject, type ObjectRow } from '../../store/objects/objects.js';
import { findPart, type NewPartRow, objectPartsAfter, type PartRow } from '../../store/objects/uploads.js';
import type { BlobReader, Blobs } from '../blobs.js';
import { BodyDamaged, checkBody } from '../bodies/checked-body.js';
import { objectItem } from '../item.js';
import type { OpenObject } from '../object-store.js';
import { nameOf, openPieces } from '../open-object.js';
import { MOST_PARTS, type PartItem } from './uploads.js';

/** Parts that are looked up in one turn; there may be 10,000. */
const AT_ONCE = 500;

/** Those of an object, while somebody reads it. Ten thousand take megabytes, and a client may read the same object hundreds of times. */
interface SharedParts {
  readonly parts: Promise<readonly PartRow[]>;
  readers: number;
}

/** By upload (store number): once it is an object, its parts stay as they are. */
const beingRead = perStore(() => new Map<number, SharedParts>());

/**
 * The parts are looked up now, because the object may be replaced while it is read. Throws {@link BodyDamaged}. Resolves to undefined
 * when the object is another one meanwhile.
 */
export async function openComposed(store: Store, row: ObjectRow, blobs: Blobs): Promise<OpenObject | undefined> {
  const leave = joinReaders(store, row.upload!);
  /** The parts that are being read: they are closed when the client leaves, without waiting for the disk. */
  const open = new Set<BlobReader>();
  const close = async (): Promise<void> => {
    leave();
    await Promise.all([...open].map((body) => body.close()));
  };
  try {
    const parts = await beingRead(store).get(row.upload!)!.parts;
    const octets = parts.reduce((sum, { size }) => sum + size, 0);
    if (octets === row.size && parts.length === row.parts) {
      return openPieces({ item: objectItem(row), close }, (first, last) =>
        readParts({ parts, blobs, name: nameOf(row), open }, first, last),
      );
    }
    if (findObject(store, row.bucket, row.key)?.version === row.version)
      throw new BodyDamaged(nameOf(row), 'is not whole');
  } catch (error) {
    leave();
    throw error;
  }
  leave();
  return undefined;
}

/** Returns what forgets the parts once nobody reads them; further calls do nothing. */
function joinReaders(store: Store, upload: number): () => void {
  const all = beingRead(store);
  const shared = all.get(upload) ?? { parts: lookUpParts(store, upload), readers: 0 };
  all.set(upload, shared);
  shared.readers++;
  let isReading = true;
  return () => {
    if (!isReading) return;
    isReading = false;
    if (--shared.readers === 0) all.delete(upload);
  };
}

async function lookUpParts(store: Store, upload: number): Promise<readonly PartRow[]> {
  const parts: PartRow[] = [];
  while (parts.length < MOST_PARTS) {
    const more = objectPartsAfter(store, upload, parts.at(-1)?.number ?? 0, AT_ONCE);
    parts.push(...more);
    if (more.length < AT_ONCE) break;
    await nextSlice();
  }
  return parts;
}

interface Parts {
  readonly parts: readonly PartRow[];
  readonly blobs: Blobs;
  /** The object, in words. */
  readonly name: string;
  readonly open: Set<BlobReader>;
}

/** One part is open at a time; each part that is read as a whole is compared with its stored checksum. */
async function* readParts({ parts, blobs, name, open }: Parts, first: number, last: number): AsyncGenerator<Buffer> {
  for (const part of parts) {
    const { first: begin, size, blob } = part;
    const end = begin + size - 1;
    if (end < first || begin > last || size === 0) continue;
    const body = await blobs.open(blob);
    if (!body) throw new BodyDamaged(name, 'is missing');
    open.add(body);
    try {
      if (body.size !== size) throw new BodyDamaged(name, 'is not whole');
      const [from, to] = [Math.max(first, begin) - begin, Math.min(last, end) - begin];
      const length = to - from + 1;
      yield* checkBody(body.pieces(from, to), { length, sum: length === size ? part : undefined, name });
    } finally {
      open.delete(body);
      await body.close();
    }
  }
}

/** An object that came as one is its own first part. */
export function partOfObject(
  { store }: { readonly store: Store },
  bucket: number,
  key: string,
  number: number,
): Range | undefined {
  const row = findObject(store, bucket, key);
  if (!row) return undefined;
  if (row.upload === null) return number === 1 ? { first: 0, last: row.size - 1 } : undefined;
  const part = findPart(store, row.upload, number);
  return part && part.first >= 0 ? { first: part.first, last: part.first + part.size - 1 } : undefined;
}

/** Parts of an object with larger numbers; undefined when it came as one, or is not there. */
export function partsOfObject(
  { store }: { readonly store: Store },
  bucket: number,
  key: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): PartItem[] | undefined {
  const row = findObject(store, bucket, key);
  return row && row.upload !== null ? objectPartsAfter(store, row.upload, after, limit).map(partItem) : undefined;
}

export function partItem({ number, size, md5, checksum, uploaded_at }: NewPartRow): PartItem {
  return { number, size, etag: toHex(md5), checksum: checksum ?? undefined, uploadedAt: uploaded_at };
}
