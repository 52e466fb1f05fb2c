/**
 * PutObject of small bodies, stored without Node's HTTP server. Signature, token, permission, fields and body are checked as for every
 * request, by the same functions; what is asked in an unusual way, or refused before its body is read, goes the way of all others.
 */
import type { Socket } from 'node:net';
import { authenticateAtOnce } from '../control/access/authentication.js';
import { fieldsByName, type PlainUpload } from '../plain/request-head.js';
import { hasRules } from './at-once.js';
import { checkBody } from './body.js';
import { callerOf, requireBucketNamed } from './caller.js';
import { s3ErrorOf } from './errors.js';
import { requireAllowed } from './operations.js';
import type { DoorOptions } from './request.js';
import type { RequestHead } from './signature/request-head.js';
import type { Verify } from './verification.js';
import { storeBody } from './write-object.js';

/** How a request is answered. */
export interface Outcome {
  readonly headers: RequestHead['headers'];
  /** The fields of the answer when it was stored. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly error?: unknown;
}

interface Asked {
  readonly upload: PlainUpload;
  readonly id: string;
}

/** Undefined: it is not stored here, and nothing was done. Otherwise it never rejects. */
export function storeAtOnce(
  options: DoorOptions,
  verify: Verify,
  asked: Asked,
  socket: Socket,
): Promise<Outcome> | undefined {
  try {
    return begin(options, verify, asked, socket);
  } catch (error) {
    // A refusal is written by the way of all requests, which finds the same.
    if (s3ErrorOf(error)) return undefined;
    throw error;
  }
}

function begin(
  options: DoorOptions,
  verify: Verify,
  { upload, id }: Asked,
  socket: Socket,
): Promise<Outcome> | undefined {
  const { method, url, rawHeaders, body } = upload;
  const headers = options.refresh ? undefined : fieldsByName(upload);
  // A page reads refusals, too.
  if (!headers || headers['origin'] !== undefined) return undefined;
  // Before the token is read: what is committed meanwhile counts.
  const state = options.base.store.committedState();
  const { target, operation, signed, accessKey, address, fieldsOf } = verify(
    { method, url, headers, rawHeaders },
    socket.remoteAddress ?? '',
  );
  const { account, bucket = '', key = '' } = target;
  if (operation.name !== 'PutObject' || signed.payload.startsWith('STREAMING-')) return undefined;
  const found = authenticateAtOnce(options.base, accessKey.row, address);
  if (!found) return undefined;
  const caller = callerOf(options.base, accessKey, { id, address, account }, { found, state });
  const request = { options, headers: fieldsOf(), signed, caller, target, raw: { headers, socket } };
  requireAllowed(operation, request);
  if (hasRules(options.base.store, requireBucketNamed(caller, bucket).seq)) return undefined;
  return storeBody(request, checkBody(request, onePiece(Buffer.from(body))), bucket, key).then(
    ({ fields }): Outcome => ({ headers, fields }),
    (error: unknown): Outcome => ({ headers, error }),
  );
}

async function* onePiece(octets: Uint8Array): AsyncGenerator<Uint8Array> {
  yield octets;
}
