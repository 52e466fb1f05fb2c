/**
 * The interface of an object store, independent of where objects are kept. Buckets are identified by their number in
 * the database; keys are texts of 1 to 1024 octets in UTF-8, compared by octets.
 */
import type { Readable } from 'node:stream';
import type { MetricSample } from '../base/metrics.js';
import type { StorageClass } from '../store/objects/buckets.js';

/** The six HTTP headers that are stored with an object and returned with it. */
export interface HttpMetadata {
  readonly contentType?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly cacheControl?: string;
  /** The value of `Expires` as it was sent. */
  readonly expires?: string;
}

/** What lists show of an object. */
export interface ObjectEntry {
  readonly key: string;
  /** Octets. */
  readonly size: number;
  /**
   * Without quotes: MD5 of the body in hexadecimal or, of one that was uploaded in parts, that of the MD5s of its parts, a hyphen and
   * their number.
   */
  readonly etag: string;
  readonly storageClass: StorageClass;
  /** Microseconds since 1970. */
  readonly uploadedAt: number;
}

export interface ObjectItem extends ObjectEntry {
  /** A UUID that changes with every upload. */
  readonly version: string;
  /** Parts in which it was uploaded; undefined when it came as one. */
  readonly parts?: number;
  /** What the client sent with it: name and value in base64, separated by a blank. */
  readonly checksum?: string;
  readonly httpMetadata: HttpMetadata;
  readonly customMetadata: Readonly<Record<string, string>>;
}

/** A body in pieces: as they arrive, or those that are there. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Called in the write before it does anything; what it throws refuses the write. */
export type BeforeWrite = () => void;

export interface PutOptions {
  readonly httpMetadata: HttpMetadata;
  readonly customMetadata?: Readonly<Record<string, string>>;
  /** The bucket's class when absent. */
  readonly storageClass?: StorageClass | undefined;
  /** The largest accepted body in octets. */
  readonly limit: number;
  /** The exact number of octets that the body must have. */
  readonly size?: number | undefined;
  /** Checksums that the body must have, as octets. */
  readonly md5?: Uint8Array | undefined;
  readonly sha256?: Uint8Array | undefined;
  /**
   * Whether the object may replace the existing one. Called before the body is read, and again in the transaction that
   * publishes it, so that one of several writers with the same condition wins.
   */
  readonly mayReplace?: ((existing: ObjectItem | undefined) => boolean) | undefined;
  readonly beforeWrite?: BeforeWrite | undefined;
  /** An object whose body is that of the new one: it is shared with it where bodies are, if they can be, and not read then. */
  readonly shares?: Pick<OpenObject, 'item' | 'body'> | undefined;
  /** A checksum to be kept with the object; asked once the body has come. */
  readonly checksum?: (() => string | undefined) | undefined;
}

/**
 * An object with its open body: it can be read to the end even if the object is replaced meanwhile. It must be closed.
 */
export interface OpenObject {
  readonly item: ObjectItem;
  /** The whole body, if it is in memory. */
  readonly octets?: Uint8Array;
  /** The whole body among the large ones, if it is one of them: its name, and its CRC-32 if that is known. */
  readonly body?: { readonly name: string; readonly crc32: number | null };
  /** Octets from `first` to `last`, both included. A piece is valid until the next one is asked for. */
  pieces(first: number, last: number): AsyncIterable<Buffer>;
  /** The same as a stream; the whole body when they are absent. */
  read(first?: number, last?: number): Readable;
  /** Required. May be called more than once. */
  close(): Promise<void>;
}

/** An object whose body is in memory. */
export interface SmallObject {
  readonly item: ObjectItem;
  readonly octets: Uint8Array;
}

export interface ListQuery {
  readonly prefix?: string | undefined;
  /** Keys that contain it after the prefix form one group, which ends with it. */
  readonly delimiter?: string | undefined;
  /** Only keys after this one. */
  readonly startAfter?: string | undefined;
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined;
  /** Number of objects and groups on the page together. */
  readonly limit: number;
}

export interface ObjectPage {
  readonly items: readonly ObjectItem[];
  readonly groups: readonly string[];
  /** Undefined on the last page. */
  readonly cursor?: string;
}

/** Where a sweep by lifecycle rules goes on. */
export interface SweepPosition {
  /** The rules by which it began: it begins again with others. */
  readonly rules: readonly unknown[];
  /** Uploads come first. */
  readonly stage: 'uploads' | 'objects';
  /** The last key that it looked at. */
  readonly after: string | undefined;
  /** Objects that it has removed or given another class, and uploads that it has given up. */
  readonly done: number;
}

export interface ObjectStore {
  /**
   * Stores a body; resolves when it is durable and visible. Throws (errors.ts) for an invalid key, a body that is too
   * large, interrupted or has another checksum, and a condition that does not hold; StoreFull when the disk is full.
   * After any error, the existing object is unchanged. `body`: a piece must be valid until the next one is asked for.
   */
  put(bucket: number, key: string, body: Pieces, options: PutOptions): Promise<ObjectItem>;
  find(bucket: number, key: string): ObjectItem | undefined;
  /** The object with its body, if that is small: it is there at once, and need not be closed. */
  findSmall(bucket: number, key: string): SmallObject | undefined;
  /** `client`: who reads it. Throws `tooManyOpen` when that client, or all together, have too many objects open. */
  open(bucket: number, key: string, client: string): Promise<OpenObject | undefined>;
  /** Number of objects that are open. */
  openCount(): number;
  /** Of the turns at bodies. */
  samples(): MetricSample[];
  /**
   * Deletes objects, a hundred in each write; missing ones are ignored. A locked one refuses them all; one that is locked while
   * others are deleted ends it.
   */
  delete(bucket: number, keys: readonly string[], beforeWrite?: BeforeWrite): Promise<void>;
  /** The same, but each key succeeds or fails for itself. Returns why some objects stay; throws when the first write fails. */
  deleteEach(bucket: number, keys: readonly string[], beforeWrite: BeforeWrite): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Does to a few objects or uploads of a bucket what its lifecycle rules say, in one write. Returns where to go on; undefined at the end.
   */
  sweepByRules(
    bucket: number,
    position: SweepPosition | undefined,
    beforeWrite: BeforeWrite,
  ): Promise<SweepPosition | undefined>;
  /**
   * Removes files that crashes have left behind. Must run once after the start. False when it stopped because a backup is being
   * made.
   */
  sweep(): Promise<boolean>;
  /** Reads the next share of all bodies, slowly, and notes what is damaged; to be called once an hour. */
  verify(signal: AbortSignal): Promise<void>;
}

export const LONGEST_KEY = 1024;

/**
 * Whether the store accepts the key. The empty key is valid: it belongs to the path `/`. The admin endpoints cannot
 * address it.
 */
export function isObjectKey(key: string): boolean {
  return key.length <= LONGEST_KEY && Buffer.byteLength(key) <= LONGEST_KEY;
}
