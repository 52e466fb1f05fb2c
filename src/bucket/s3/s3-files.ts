/** Whole files on S3, under names below the prefix of an address: what backups need. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { messageOf, UserError } from '../../base/errors.js';
import { parseS3Address, type S3Address } from './address.js';
import { createS3Client, S3_LIMITS, unlessMissing } from './client.js';

export interface S3Files {
  /** The names that begin with this. */
  list(start: string): Promise<readonly string[]>;
  put(name: string, path: string): Promise<void>;
  /** Writes a file; false when S3 has none of this name. */
  fetch(name: string, path: string): Promise<boolean>;
  /** SHA-256 of what S3 has, in hexadecimal; undefined when it has none. */
  sumOf(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
  close(): void;
}

/** Octets of a part of an upload: 10 000 of them are 625 GiB. A smaller file is one request. */
const PART_OCTETS = 64 << 20;

/** Whatever S3 refuses is a UserError. */
export function openS3Files(address: string): S3Files {
  const at = parseS3Address(address);
  const client = createS3Client(at, S3_LIMITS);
  const told = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((error: unknown) => {
      if (!(error instanceof S3ServiceException) && !(error as { readonly code?: string }).code) throw error;
      throw new UserError(
        `the bucket ${at.bucket} on S3 cannot be used: ${(error as Error).name}: ${messageOf(error)}`,
        'Check the address, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that the bucket exists.',
      );
    });
  const place = (name: string) => ({ Bucket: at.bucket, Key: at.prefix + name });
  const body = async (name: string) => {
    const found = await unlessMissing(client.send(new GetObjectCommand(place(name))));
    return found?.Body as Readable | undefined;
  };
  return {
    list: (start) => told(listNames(client, at, start)),
    put: (name, path) => told(putFile(client, place(name), path)),
    fetch: (name, path) =>
      told(
        body(name).then(async (found) => {
          if (found) await pipeline(found, createWriteStream(path, { mode: 0o600 }));
          return found !== undefined;
        }),
      ),
    sumOf: (name) =>
      told(
        body(name).then(async (found) => {
          if (!found) return undefined;
          const hash = createHash('sha256');
          await pipeline(found, hash);
          return hash.digest('hex');
        }),
      ),
    remove: (name) => told(client.send(new DeleteObjectCommand(place(name))).then(() => undefined)),
    close: () => client.destroy(),
  };
}

async function listNames(client: S3Client, { bucket, prefix }: S3Address, start: string): Promise<readonly string[]> {
  const names: string[] = [];
  let token: string | undefined;
  do {
    const page: ListObjectsV2CommandOutput = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix + start, ContinuationToken: token }),
    );
    for (const { Key } of page.Contents ?? []) if (Key !== undefined) names.push(Key.slice(prefix.length));
    token = page.NextContinuationToken;
  } while (token !== undefined);
  return names;
}

async function putFile(client: S3Client, place: { Bucket: string; Key: string }, path: string): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, 'r');
  let upload: string | undefined;
  try {
    const read = async (at: number): Promise<Buffer> => {
      const piece = Buffer.allocUnsafe(Math.min(PART_OCTETS, size - at));
      let filled = 0;
      while (filled < piece.length) {
        const { bytesRead } = await file.read(piece, filled, piece.length - filled, at + filled);
        if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
        filled += bytesRead;
      }
      return piece;
    };
    if (size <= PART_OCTETS) {
      await client.send(new PutObjectCommand({ ...place, Body: await read(0) }));
      return;
    }
    upload = (await client.send(new CreateMultipartUploadCommand(place))).UploadId!;
    const parts: CompletedPart[] = [];
    for (let at = 0; at < size; at += PART_OCTETS) {
      const PartNumber = parts.length + 1;
      const part = { ...place, UploadId: upload, PartNumber, Body: await read(at) };
      parts.push({ ETag: (await client.send(new UploadPartCommand(part))).ETag, PartNumber });
    }
    const whole = { ...place, UploadId: upload, MultipartUpload: { Parts: parts } };
    await client.send(new CompleteMultipartUploadCommand(whole));
  } catch (error) {
    if (upload !== undefined) {
      await client.send(new AbortMultipartUploadCommand({ ...place, UploadId: upload })).catch(() => undefined);
    }
    throw error;
  } finally {
    await file.close();
  }
}
