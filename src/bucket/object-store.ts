/**
 * What a store of objects can do, whatever keeps them. Buckets are known by their number in the database; keys are texts of 1
 * to 1024 octets in UTF-8, compared by those octets.
 */
import type { Readable } from 'node:stream';
import type { StorageClass } from '../store/objects/buckets.js';

/** The six headers of HTTP that are kept with an object and given back with it. */
export interface HttpMetadata {
  readonly contentType?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly cacheControl?: string;
  /** The value of `Expires` as it was given. */
  readonly expires?: string;
}

export interface ObjectItem {
  readonly key: string;
  /** A UUID, another one with every upload. */
  readonly version: string;
  /** Octets. */
  readonly size: number;
  /** MD5 of the body in hexadecimal, without quotes. */
  readonly etag: string;
  readonly storageClass: StorageClass;
  readonly httpMetadata: HttpMetadata;
  readonly customMetadata: Readonly<Record<string, string>>;
  /** Microseconds since 1970. */
  readonly uploadedAt: number;
}

export interface PutOptions {
  readonly httpMetadata: HttpMetadata;
  readonly customMetadata?: Readonly<Record<string, string>>;
  /** That of the bucket when absent. */
  readonly storageClass?: StorageClass | undefined;
  /** Largest body that is accepted, octets. */
  readonly limit: number;
  /** The body must have exactly so many octets. */
  readonly size?: number | undefined;
  /** Checksums the body must have, as octets. */
  readonly md5?: Uint8Array | undefined;
  readonly sha256?: Uint8Array | undefined;
  /**
   * Whether the object may take the place of the one that is there; asked before the body is read, and again in the
   * transaction that publishes it, so that of several writers with the same condition one wins.
   */
  readonly mayReplace?: ((existing: ObjectItem | undefined) => boolean) | undefined;
}

/** An object with its body at hand: it can be read to the end even if it is replaced meanwhile. Close it. */
export interface OpenObject {
  readonly item: ObjectItem;
  /** Octets from `first` to `last`, both included; the whole body when they are absent. May be called once; closes it. */
  read(first?: number, last?: number): Readable;
  /** As `read`, as often as wanted, and without closing. */
  readPart(first: number, last: number): Readable;
  /** Needed unless `read` was called. */
  close(): Promise<void>;
}

export interface ListQuery {
  readonly prefix?: string | undefined;
  /** Keys that hold it after the prefix are told as one group, which ends with it. */
  readonly delimiter?: string | undefined;
  /** Only keys after this one. */
  readonly startAfter?: string | undefined;
  /** Where the page before ended. */
  readonly cursor?: string | undefined;
  /** Objects and groups of the page together. */
  readonly limit: number;
}

export interface ObjectPage {
  readonly items: readonly ObjectItem[];
  readonly groups: readonly string[];
  /** Undefined on the last page. */
  readonly cursor?: string;
}

export interface ObjectStore {
  /**
   * Stores a body; resolves when it is durable and visible, and until then nothing is. Throws (errors.ts) for a bad key, a
   * body that is too large, breaks off or has another checksum, and a condition that does not hold; StoreFull when the disk
   * is full. Whatever it throws, the object that was there before is untouched.
   */
  put(bucket: number, key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<ObjectItem>;
  find(bucket: number, key: string): ObjectItem | undefined;
  open(bucket: number, key: string): Promise<OpenObject | undefined>;
  /** Deletes objects together; those that are not there are none the worse. */
  delete(bucket: number, keys: readonly string[]): Promise<void>;
  list(bucket: number, query: ListQuery): ObjectPage;
  /** Removes files that crashes have left behind. Needs to run once after the start. */
  sweep(): Promise<void>;
}

export const LONGEST_KEY = 1024;

/** Whether the store can keep it. The empty key is one: that of the path `/`. The admin endpoints have no place for it. */
export function isObjectKey(key: string): boolean {
  return key.length <= LONGEST_KEY && Buffer.byteLength(key) <= LONGEST_KEY;
}
