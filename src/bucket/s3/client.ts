/** Requests to S3. Whatever goes wrong there is one failure for clients, and a line in the log for the operator. */
import { HeadBucketCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { AppError, messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { objectFailure } from '../errors.js';
import type { S3Address } from './address.js';

export interface S3Limits {
  readonly connectMs: number;
  /** Without a sign of life for so long, a request is given up. */
  readonly silenceMs: number;
  /** Attempts of one request, the first one included. */
  readonly attempts: number;
}

export const S3_LIMITS: S3Limits = { connectMs: 3000, silenceMs: 15_000, attempts: 4 };

export function createS3Client({ endpoint, region, pathStyle }: S3Address, limits: S3Limits): S3Client {
  return new S3Client({
    region,
    forcePathStyle: pathStyle,
    maxAttempts: limits.attempts,
    // Other servers do not know the checksums that Amazon's SDK adds by itself.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: limits.connectMs,
      requestTimeout: limits.silenceMs,
      throwOnRequestTimeout: true,
      socketTimeout: limits.silenceMs,
    },
    ...(endpoint !== undefined && { endpoint }),
  });
}

/** The result of a request; undefined when S3 says that what it is about does not exist. */
export async function unlessMissing<Result>(request: Promise<Result>): Promise<Result | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404 && error.name !== 'NoSuchBucket';
}

/** Whether the server does not know the kind of request. */
export function isUnknownRequest(error: unknown): boolean {
  return error instanceof S3ServiceException && [405, 501].includes(error.$metadata.httpStatusCode ?? 0);
}

/** What clients are told; the log says why. */
export function storageFailure(error: unknown, what: string, log: Logger): AppError {
  if (error instanceof AppError) return error;
  log.error({ reason: `${(error as Error).name}: ${messageOf(error)}` }, `${what} failed on S3`);
  return objectFailure('storageAway');
}

/**
 * The time of the server that dates the objects, milliseconds since 1970, in whole seconds (RFC 9110 §6.6.1). The clock of this
 * machine may be a day ahead; by that, everything would be old.
 */
export async function timeOf(client: S3Client, bucket: string): Promise<number> {
  const command = new HeadBucketCommand({ Bucket: bucket });
  let date: string | undefined;
  command.middlewareStack.add(
    (next) => async (request) => {
      const result = await next(request);
      const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
      date = headers?.['date'];
      return result;
    },
    { step: 'deserialize' },
  );
  await client.send(command);
  const nowMs = Date.parse(date ?? '');
  if (Number.isNaN(nowMs))
    throw new Error(`the response has no date by which the age of bodies could be told (${date})`);
  return nowMs;
}
