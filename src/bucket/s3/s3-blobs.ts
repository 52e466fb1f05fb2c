/**
 * Large bodies as objects on S3: each under a unique name that is never written again, and complete before its row is
 * published. Conditions, lists and sums are those of the rows, so nothing is asked of S3 but to keep what it was given.
 */
import { addAbortSignal, type Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { sleep } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { Random } from '../../base/random.js';
import { BLOB_NAME, type BlobDraft, type BlobReader, type Blobs, type FinishedDraft, newBlobName } from '../blobs.js';
import { parseS3Address, type S3Address } from './address.js';
import {
  createS3Client,
  isUnknownRequest,
  S3_LIMITS,
  type S3Limits,
  storageFailure,
  timeOf,
  unlessMissing,
} from './client.js';

export interface S3Options {
  readonly address: string;
  readonly random: Random;
  readonly log: Logger;
  readonly limits?: S3Limits;
}

/** A part of an upload; all but the last have this size, and a smaller body is one request. */
const PART_OCTETS = 8 << 20;
/** Octets: S3 copies no more in one request. */
const MOST_COPIED = 5 * 1024 ** 3;
/** Younger ones may belong to an upload of another node: Amazon dates an object by the begin of its upload. */
const ORPHAN_AGE_MS = 86_400_000;
/** A replaced body may be being read on another node. */
const REMOVAL_DELAY_MS = 3_600_000;
/** Looks for a body that must be there, and the milliseconds before each. */
const LOOKS_MS = [0, 100, 400, 1500];

interface S3 extends Required<S3Options> {
  readonly client: S3Client;
  readonly at: S3Address;
  readonly keyOf: (name: string) => string;
}

/** Throws a UserError when the address is not one. */
export function createS3Blobs(options: S3Options): Blobs {
  const at = parseS3Address(options.address);
  const limits = options.limits ?? S3_LIMITS;
  const client = createS3Client(at, limits);
  const s3: S3 = {
    ...{ ...options, at, limits, client },
    keyOf: (name) => `${at.prefix}${name.slice(0, 2)}/${name}`,
  };
  return {
    removalDelayMs: REMOVAL_DELAY_MS,
    draft: async (name = newBlobName(s3.random)) => createDraft(s3, name),
    share: (name) => guarded(s3, 'copying a body', () => shareBody(s3, name)),
    sizeOf: (name) => guarded(s3, 'looking for a body', () => sizeOf(s3, name)),
    async open(name) {
      const size = await guarded(s3, 'opening a body', () => sizeOf(s3, name));
      return size === undefined ? undefined : createReader(s3, name, size);
    },
    async remove(name) {
      await guarded(s3, 'removing a body', () =>
        s3.client.send(new DeleteObjectCommand({ Bucket: at.bucket, Key: s3.keyOf(name) })),
      );
    },
    nowMs: () => guarded(s3, 'asking for the time', () => timeOf(client, at.bucket)),
    list: (nowMs) => list(s3, nowMs),
    close: async () => s3.client.destroy(),
  };
}

/** Throws a UserError when the bucket cannot be used; it may be away for a moment only. */
export async function requireS3(options: S3Options): Promise<void> {
  const at = parseS3Address(options.address);
  const client = createS3Client(at, options.limits ?? S3_LIMITS);
  try {
    await client.send(new HeadBucketCommand({ Bucket: at.bucket }));
  } catch (error) {
    const { name } = error as Error;
    throw new UserError(
      `the bucket ${at.bucket} on S3 cannot be used: ${name === 'NotFound' ? 'it does not exist' : `${name}: ${messageOf(error)}`}`,
      'Check ZONEPLANE_OBJECTS, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that the bucket exists.',
    );
  } finally {
    client.destroy();
  }
}

async function guarded<Result>({ log }: S3, what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storageFailure(error, what, log);
  }
}

/** Looks again when it is not there: some servers show it only after a moment. */
async function sizeOf({ client, at, keyOf }: S3, name: string): Promise<number | undefined> {
  for (const pauseMs of LOOKS_MS) {
    if (pauseMs > 0) await sleep(pauseMs);
    const head = await unlessMissing(client.send(new HeadObjectCommand({ Bucket: at.bucket, Key: keyOf(name) })));
    if (head) return head.ContentLength;
  }
  return undefined;
}

/** Holds no more than one part in memory. */
function createDraft(s3: S3, name: string): BlobDraft {
  const { client, at, keyOf } = s3;
  const place = { Bucket: at.bucket, Key: keyOf(name) };
  const waiting: Uint8Array[] = [];
  const parts: CompletedPart[] = [];
  let held = 0;
  let size = 0;
  let upload: string | undefined;

  async function sendPart(): Promise<void> {
    const body = Buffer.concat(waiting.splice(0));
    held = 0;
    upload ??= (await client.send(new CreateMultipartUploadCommand(place))).UploadId!;
    const PartNumber = parts.length + 1;
    const { ETag } = await client.send(new UploadPartCommand({ ...place, UploadId: upload, PartNumber, Body: body }));
    parts.push({ ETag, PartNumber });
  }

  async function complete(): Promise<void> {
    if (upload === undefined) {
      await client.send(new PutObjectCommand({ ...place, Body: Buffer.concat(waiting) }));
    } else {
      if (held > 0) await sendPart();
      const done = new CompleteMultipartUploadCommand({
        ...place,
        UploadId: upload,
        MultipartUpload: { Parts: parts },
      });
      await client.send(done).catch((error: unknown) => unlessThere(s3, name, size, error));
    }
    const found = await sizeOf(s3, name);
    if (found !== size) throw new Error(`S3 has ${found ?? 'no'} octets of a body of ${size} after it took them`);
  }

  return {
    name,
    write: (octets) =>
      guarded(s3, 'storing a body', async () => {
        waiting.push(Buffer.from(octets));
        held += octets.length;
        size += octets.length;
        if (held >= PART_OCTETS) await sendPart();
      }),
    publish: () => guarded(s3, 'storing a body', complete),
    async discard() {
      // What is left by a server that is away, the sweeper finds.
      if (upload !== undefined) {
        await client.send(new AbortMultipartUploadCommand({ ...place, UploadId: upload })).catch(() => {});
      }
      await client.send(new DeleteObjectCommand(place)).catch(() => {});
    },
  };
}

/** S3 copies it, whatever that is there. Undefined when it cannot. */
async function shareBody(s3: S3, name: string): Promise<FinishedDraft | undefined> {
  const { client, at, keyOf } = s3;
  const own = newBlobName(s3.random);
  const place = { Bucket: at.bucket, Key: keyOf(own) };
  const discard = async (): Promise<void> => {
    await client.send(new DeleteObjectCommand(place)).catch(() => {});
  };
  const size = await sizeOf(s3, name);
  if (size === undefined || size > MOST_COPIED) return undefined;
  try {
    await client.send(new CopyObjectCommand({ ...place, CopySource: `${at.bucket}/${keyOf(name)}` }));
  } catch (error) {
    if (isUnknownRequest(error)) return undefined;
    await discard();
    throw error;
  }
  if ((await sizeOf(s3, own)) === size) return { name: own, publish: async () => {}, discard };
  await discard();
  return undefined;
}

/** The answer to a completion may be lost, and the next attempt be refused since the upload does not exist any more. */
async function unlessThere(s3: S3, name: string, size: number, error: unknown): Promise<void> {
  if ((await sizeOf(s3, name).catch(() => undefined)) !== size) throw error;
}

/** Closing it ends the request that is under way: a server that stalls would keep whoever reads. */
function createReader(s3: S3, name: string, size: number): BlobReader {
  const closing = new AbortController();
  const { signal } = closing;
  return {
    size,
    pieces: (first, last) => octetsOf(s3, { name, first, last, signal }),
    close: async () => closing.abort(),
  };
}

interface Reading {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly signal: AbortSignal;
}

/** A response that breaks off is continued where it ended, by another request. */
async function* octetsOf(s3: S3, { name, first, last, signal }: Reading): AsyncGenerator<Buffer> {
  const { client, at, keyOf, limits, log } = s3;
  const place = { Bucket: at.bucket, Key: keyOf(name) };
  let next = first;
  for (let failures = 0; next <= last; ) {
    try {
      const asked = new GetObjectCommand({ ...place, Range: `bytes=${next}-${last}` });
      const { Body } = await client.send(asked, { abortSignal: signal });
      for await (const octets of addAbortSignal(signal, Body as Readable) as AsyncIterable<Buffer>) {
        if (octets.length > last + 1 - next) throw new Error('S3 sent more octets than it was asked for');
        next += octets.length;
        failures = 0;
        yield octets;
      }
      if (next <= last) throw new Error('the response of S3 ended too early');
    } catch (error) {
      if (signal.aborted) throw error;
      if (++failures >= limits.attempts) throw storageFailure(error, 'reading a body', log);
      log.warn({ reason: messageOf(error), octets: next - first }, 'the response of S3 broke off; it is continued');
    }
  }
}

/** Names of bodies, and removes uploads that were abandoned. */
async function* list(s3: S3, nowMs: number): AsyncGenerator<string> {
  const { client, at } = s3;
  await guarded(s3, 'looking for abandoned uploads', () => abortAbandoned(s3, nowMs));
  let ContinuationToken: string | undefined;
  do {
    const page = await guarded(s3, 'listing bodies', () =>
      client.send(new ListObjectsV2Command({ Bucket: at.bucket, Prefix: at.prefix, ContinuationToken })),
    );
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const name = Key.slice(at.prefix.length + 3);
      const isOld = LastModified !== undefined && nowMs - LastModified.getTime() >= ORPHAN_AGE_MS;
      if (isOld && BLOB_NAME.test(name) && Key === s3.keyOf(name)) yield name;
    }
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken !== undefined);
}

/** A place in the list of uploads. */
interface Marker {
  readonly KeyMarker?: string;
  readonly UploadIdMarker?: string;
}

async function abortAbandoned({ client, at }: S3, nowMs: number): Promise<void> {
  const place = { Bucket: at.bucket, Prefix: at.prefix };
  for (let after: Marker | undefined = {}; after; ) {
    const page: ListMultipartUploadsCommandOutput | undefined = await client
      .send(new ListMultipartUploadsCommand({ ...place, ...after }))
      .catch((error: unknown) => {
        // Some servers do not list them, and remove them by themselves.
        if (isUnknownRequest(error)) return undefined;
        throw error;
      });
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
      if (Initiated === undefined || nowMs - Initiated.getTime() < ORPHAN_AGE_MS) continue;
      // Another node, or the server itself, may have been first.
      await unlessMissing(client.send(new AbortMultipartUploadCommand({ Bucket: at.bucket, Key, UploadId })));
    }
    after = page && markerBehind(page);
  }
}

/** Where the next page of a list begins; undefined behind the last one. */
function markerBehind(page: ListMultipartUploadsCommandOutput): Marker | undefined {
  const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
  return IsTruncated && KeyMarker ? { KeyMarker, ...(UploadIdMarker && { UploadIdMarker }) } : undefined;
}
