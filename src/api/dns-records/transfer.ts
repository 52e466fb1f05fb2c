/** Zone files over HTTP: import as a form, export as text (v4: §7.2, §7.3). */
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { readAhead, textSource } from '../../base/read-ahead.js';
import { requireZone } from '../../control/guard/access.js';
import type { RecordImportResult } from '../../control/imports/records.js';
import { accountOf } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { exportZone } from '../../control/records/export.js';
import { IN_MEMORY } from '../../store/driver.js';
import { bodyFailure } from '../body.js';
import type { Message } from '../envelope.js';
import { failure } from '../errors.js';
import type { Readers } from '../reading/readers.js';
import { parseMultipart } from './multipart.js';

/** Largest zone file, in octets (v4: §7.3). */
const FILE_LIMIT_BYTES = 256 * 1024;
/** Limit for the form, which contains the file. */
export const FORM_LIMIT_BYTES = FILE_LIMIT_BYTES + 16 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export interface UploadedZoneFile {
  readonly text: string;
  readonly proxied: boolean;
}

/** The file and the `proxied` flag. Throws 9207 when the form is invalid, has no file, or the file is too large. */
export function readZoneFile(request: FastifyRequest): UploadedZoneFile {
  const parts = parseMultipart(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0), contentTypeOf(request));
  const file = parts.get('file');
  if (!file) throw bodyFailure('the form has no part named "file"', '/file');
  if (file.length > FILE_LIMIT_BYTES) throw failure('bodyTooLarge', { limit: FILE_LIMIT_BYTES }, { pointer: '/file' });
  const proxied = parts.get('proxied')?.toString('latin1').trim().toLowerCase();
  if (proxied !== undefined && !['', 'true', 'false'].includes(proxied)) {
    throw bodyFailure('proxied: true or false is expected', '/proxied');
  }
  return { text: decode(file), proxied: proxied === 'true' };
}

function contentTypeOf(request: FastifyRequest): string | undefined {
  return request.headers['content-type'];
}

function decode(file: Buffer): string {
  try {
    return utf8.decode(file);
  } catch {
    throw bodyFailure('the file is not UTF-8 text', '/file');
  }
}

/** One message for each omitted record, with its line and the reason. */
export function leftOutMessages({ leftOut }: RecordImportResult): Message[] {
  return leftOut.map(({ line, code, reason }) => ({ code, message: `Line ${line}: ${reason}` }));
}

/**
 * Turns chunks of text into a stream of octets. The first chunk is produced before this returns, so that a refusal can
 * still be sent. However the stream ends, the generator is closed, so that it frees its resources. The stream breaks off when the
 * caller loses the permission to read.
 */
export async function streamText(
  pieces: AsyncGenerator<string | Uint8Array>,
  { log, requireStill }: Pick<Context, 'log' | 'requireStill'>,
): Promise<Readable> {
  const first = await pieces.next();
  async function* all(): AsyncGenerator<string | Uint8Array> {
    if (first.done) return;
    yield first.value;
    for await (const piece of pieces) {
      requireStill?.();
      yield piece;
    }
  }
  const stream = Readable.from(all(), { objectMode: false });
  stream.once('close', () => {
    pieces.return(undefined).catch((error: unknown) => log.error({ err: error }, 'an export did not end properly'));
  });
  return stream;
}

/** A zone file. It is read at once, so that a client that reads slowly does not hold the write-ahead log of the database. */
export function exportText(
  context: Context,
  zoneId: string,
  exportApart?: Readers['export'],
): AsyncGenerator<string | Uint8Array> {
  requireZone(context, zoneId);
  const { path } = context.store;
  const texts = (): AsyncGenerator<string> => exportZone(context, zoneId, 'bind');
  if (path === IN_MEMORY) return texts();
  return readAhead(
    exportApart ? exportApart(accountOf(context), context.actor, zoneId) : textSource(texts()),
    dirname(path),
  );
}
