/** Uploads in parts: the interface. */
import type { Range } from '../../http/range.js';
import type { BeforeWrite, ObjectItem, ObjectStore, PutOptions } from '../object-store.js';

export const MOST_PARTS = 10_000;

export interface UploadItem {
  /** What clients name. */
  readonly id: string;
  readonly key: string;
  readonly storageClass: ObjectItem['storageClass'];
  /** Microseconds since 1970. */
  readonly startedAt: number;
}

export interface PartItem {
  readonly number: number;
  readonly size: number;
  /** MD5 in hexadecimal. */
  readonly etag: string;
  /** What the client sent with it: name and value in base64, separated by a blank. */
  readonly checksum: string | undefined;
  /** Microseconds since 1970. */
  readonly uploadedAt: number;
}

/** Whether the checksum of an object in parts covers its octets, or the checksums of its parts. */
export type ChecksumType = 'FULL_OBJECT' | 'COMPOSITE';

export interface UploadOptions
  extends Pick<PutOptions, 'httpMetadata' | 'customMetadata' | 'storageClass' | 'beforeWrite'> {
  readonly checksumType?: ChecksumType | undefined;
}

export type PartOptions = Pick<PutOptions, 'limit' | 'size' | 'md5' | 'beforeWrite' | 'checksum' | 'shares'>;

/** A part as the client names it when it completes an upload. */
export interface NamedPart {
  readonly number: number;
  /** Without quotes. */
  readonly etag: string;
}

/** What the checksum of an object is made of. */
export type PartChecksum = Pick<PartItem, 'size' | 'checksum'>;

export interface CompleteOptions extends Pick<PutOptions, 'mayReplace' | 'beforeWrite' | 'limit'> {
  /** Makes the checksum of the object from those of its parts, in steps. `type`: what the upload was begun with. */
  readonly compose: (
    parts: readonly PartChecksum[],
    type: ChecksumType | undefined,
  ) => Generator<undefined, string | undefined>;
}

/** Where an upload is looked for. */
export interface UploadPlace {
  readonly bucket: number;
  readonly key: string;
  readonly id: string;
}

/** All throw `noUpload` for an upload that is not there, and `noBucket` for a bucket. */
export interface Uploads {
  /** Begins an upload; returns its identifier. */
  create(bucket: number, key: string, options: UploadOptions): Promise<string>;
  /** Stores a part; resolves when it is durable. One with the same number stays until then, and is replaced. */
  putPart(place: UploadPlace, number: number, body: AsyncIterable<Uint8Array>, options: PartOptions): Promise<PartItem>;
  /** Makes the object. Parts that are not named are removed. Completed again, it returns the object that it made, while that is there. */
  complete(place: UploadPlace, parts: readonly NamedPart[], options: CompleteOptions): Promise<ObjectItem>;
  abort(place: UploadPlace, beforeWrite: BeforeWrite): Promise<void>;
  find(place: UploadPlace): UploadItem;
  /** Parts with larger numbers. */
  parts(place: UploadPlace, after: number, limit: number): PartItem[];
  /** Open uploads in the order of their keys, behind a key, or behind an upload of that key. */
  list(bucket: number, afterKey: string, afterId: string | undefined, limit: number): UploadItem[];
}

/** An object store that takes uploads in parts, too. */
export interface UploadingStore extends ObjectStore {
  readonly uploads: Uploads;
  /** Octets of a part with this number; undefined when the object has no such part. */
  partOf(bucket: number, key: string, number: number): Range | undefined;
  /** Parts of an object with larger numbers; undefined when it came as one. */
  partsOf(bucket: number, key: string, after: number, limit: number): PartItem[] | undefined;
}
