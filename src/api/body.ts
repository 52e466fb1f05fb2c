/** Request bodies: JSON whatever the content type says, an empty one is none (v4: §0.5, §0.6, §0.9). */
import type { Readable } from 'node:stream';
import type { Clock } from '../base/clock.js';
import type { AppError } from '../base/errors.js';
import { failure } from './errors.js';

/** Largest JSON body, in octets (v4: §1.1). */
export const JSON_LIMIT_BYTES = 1 << 20;
/** Largest body of a batch of record changes, in octets. */
export const BATCH_LIMIT_BYTES = 8 << 20;

/** A body that is read whole must have arrived in this time; streamed ones may take as long as data flows. */
const BODY_TIMEOUT_MS = 60_000;

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
const LONE_SURROGATE = /\p{Surrogate}/u;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export interface BodyBounds {
  /** The client's own word on the length, octets; NaN when it gave none. */
  readonly declared: number;
  readonly limit: number;
  readonly clock: Clock;
}

/** All octets of a body. Rejects with 9207 when it is too large or arrives too slowly. */
export function readOctets(body: Readable, { declared, limit, clock }: BodyBounds): Promise<Buffer> {
  if (declared > limit) return Promise.reject(failure('bodyTooLarge', { limit }));
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const settle = (error?: unknown): void => {
      cancel();
      body.off('data', take).off('end', settle).off('error', settle);
      if (error) reject(error);
      else resolve(Buffer.concat(pieces, length));
    };
    const take = (piece: Buffer): void => {
      length += piece.length;
      if (length > limit) settle(failure('bodyTooLarge', { limit }));
      else pieces.push(piece);
    };
    const cancel = clock.after(BODY_TIMEOUT_MS, () => settle(failure('tooSlow')));
    body.on('data', take).on('end', settle).on('error', settle);
  });
}

/** The JSON value in a body; undefined for an empty one. Throws 9207 saying where the text breaks. */
export function parseJson(body: Buffer | undefined): unknown {
  if (body === undefined || body.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw bodyFailure('it is not UTF-8 text');
  }
  if (text.trim() === '') return undefined;
  try {
    return SURROGATE_ESCAPE.test(text) ? JSON.parse(text, requireCharacters) : JSON.parse(text);
  } catch (error) {
    throw bodyFailure(`it is not JSON: ${(error as Error).message}`);
  }
}

/** Half a surrogate pair is no character: storing it as UTF-8 would change it unseen (RFC 8259 §8.2). */
function requireCharacters(name: string, value: unknown): unknown {
  if (LONE_SURROGATE.test(name) || (typeof value === 'string' && LONE_SURROGATE.test(value))) {
    throw new SyntaxError('a text holds half of a surrogate pair');
  }
  return value;
}

/** 9207 with what is wrong in its chain. */
export function bodyFailure(detail: string, pointer?: string): AppError {
  const chain = [{ code: 9207, message: detail }];
  return failure('badBody', {}, pointer === undefined ? { chain } : { chain, pointer });
}
